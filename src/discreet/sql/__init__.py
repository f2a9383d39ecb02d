"""SQL text -> plan -> integers -> noise -> answer."""
