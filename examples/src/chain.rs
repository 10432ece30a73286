//! The smallest network that needs a backward pass: layers of weights, each multiplied
//! with its input element by element.

/// What a layer makes of its input.
pub fn forward(weights: &[f32], input: &[f32]) -> Vec<f32> {
    product(weights, input)
}

/// The gradients of a layer's weights and of its input, given that of its output.
pub fn backward(weights: &[f32], input: &[f32], of_output: &[f32]) -> (Vec<f32>, Vec<f32>) {
    (product(of_output, input), product(of_output, weights))
}

/// The gradient of the loss `½ Σ (output − target)²` with respect to the output.
pub fn of_loss(output: &[f32], target: &[f32]) -> Vec<f32> {
    output.iter().zip(target).map(|(output, target)| output - target).collect()
}

/// One step down the gradient.
pub fn descend(weights: &mut [f32], gradient: &[f32], rate: f32) {
    for (weight, slope) in weights.iter_mut().zip(gradient) {
        *weight -= rate * slope;
    }
}

fn product(left: &[f32], right: &[f32]) -> Vec<f32> {
    left.iter().zip(right).map(|(left, right)| left * right).collect()
}
