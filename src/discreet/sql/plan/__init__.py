"""The plan of a question. It chooses strategies and mechanisms, and shares epsilon among them."""
