"""토큰을 하나씩 보며 목록에 담는 사람."""


def mask_tokens(token_ids, chance, random_ids, mask_id):
    inputs, labels = [], []
    for ids, numbers, others in zip(token_ids, chance, random_ids):
        row, answers = [], []
        for token, number, other in zip(ids, numbers, others):
            if token < 4 or number >= 0.15:
                row.append(token)
                answers.append(0)
                continue
            answers.append(token)
            if number < 0.12:
                row.append(mask_id)
            elif number < 0.135:
                row.append(other)
            else:
                row.append(token)
        inputs.append(row)
        labels.append(answers)
    return inputs, labels


candidate = mask_tokens
