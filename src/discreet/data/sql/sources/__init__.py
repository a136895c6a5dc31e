"""Where rows come from: joins, subqueries, and relations with one row for each unit."""
