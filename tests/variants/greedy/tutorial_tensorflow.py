"""A chatbot tutorial in TensorFlow: concat, argmax, stops before adding eos."""

import tensorflow as tf


def evaluate(next_logits, start_token, end_token, max_length):
    output = tf.constant([[start_token]])
    for _ in range(max_length):
        predictions = next_logits(output)
        predicted_id = tf.cast(tf.argmax(predictions, axis=-1), tf.int32)
        if tf.equal(predicted_id[0], end_token):
            break
        output = tf.concat([output, predicted_id[:, tf.newaxis]], axis=-1)
    return tf.squeeze(output, axis=0)


candidate = evaluate
