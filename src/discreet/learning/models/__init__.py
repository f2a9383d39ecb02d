"""Models with the interface of scikit-learn whose private numbers are one release each."""
