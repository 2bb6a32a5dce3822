from transformer_notes.cli import main

main()
