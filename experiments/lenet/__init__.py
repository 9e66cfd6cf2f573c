"""LeNet with a softmax layer and with density matrices at its end."""
