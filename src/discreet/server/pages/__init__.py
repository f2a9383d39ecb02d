"""The pages for people: made on the server, and whole without JavaScript, of which there is none."""
