"""Speed and accuracy, each as a ratio against a reference measured in the same run."""
