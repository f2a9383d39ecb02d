-- # dau: daily active users
SELECT CAST(ts AS DATE) AS day, COUNT(DISTINCT user_id) AS dau FROM events WHERE ts >= '2023-03-01' AND ts < '2023-04-01' GROUP BY 1 ORDER BY 1;

-- # mau: monthly active users and change
WITH mau AS (SELECT date_trunc('month', ts) AS month, COUNT(DISTINCT user_id) AS n FROM events GROUP BY 1)
SELECT month, n, lag(n) OVER (ORDER BY month) AS before, round(100.0 * (n - lag(n) OVER (ORDER BY month)) / lag(n) OVER (ORDER BY month), 2) AS growth FROM mau ORDER BY month;

-- # stickiness: DAU over MAU
WITH d AS (SELECT CAST(ts AS DATE) AS day, COUNT(DISTINCT user_id) AS dau FROM events WHERE ts < TIMESTAMP '2023-06-29' GROUP BY 1), m AS (SELECT date_trunc('month', ts) AS month, COUNT(DISTINCT user_id) AS mau FROM events WHERE ts < TIMESTAMP '2023-06-29' GROUP BY 1)
SELECT m.month, AVG(d.dau) / MAX(m.mau) AS stickiness FROM m JOIN d ON date_trunc('month', d.day) = m.month GROUP BY m.month ORDER BY 1;

-- # rolling 7: a rolling week of events
WITH d AS (SELECT CAST(ts AS DATE) AS day, COUNT(*) AS n FROM events WHERE ts < TIMESTAMP '2023-06-29' GROUP BY 1)
SELECT day, SUM(n) OVER (ORDER BY day ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) AS week FROM d ORDER BY day;

-- # rolling range: the same by an interval
WITH d AS (SELECT CAST(ts AS DATE) AS day, COUNT(*) AS n FROM events WHERE ts < TIMESTAMP '2023-06-29' GROUP BY 1)
SELECT day, AVG(n) OVER (ORDER BY day RANGE BETWEEN INTERVAL 6 DAYS PRECEDING AND CURRENT ROW) AS week FROM d ORDER BY day;

-- # retention: users of a cohort active in months after
WITH first AS (SELECT user_id, MIN(ts) AS first_ts FROM events GROUP BY user_id)
SELECT date_trunc('month', f.first_ts) AS cohort, date_diff('month', f.first_ts, e.ts) AS month_number, COUNT(DISTINCT e.user_id) AS users FROM events e JOIN first f ON f.user_id = e.user_id GROUP BY 1, 2 HAVING COUNT(DISTINCT e.user_id) > 0.5 ORDER BY 1, 2;

-- # cohort by signup: retention from the day of signing up
SELECT date_trunc('month', u.signup_date) AS cohort, COUNT(DISTINCT u.user_id) AS users, COUNT(DISTINCT CASE WHEN date_diff('day', u.signup_date, CAST(e.ts AS DATE)) BETWEEN 7 AND 14 THEN e.user_id END) AS week2 FROM users u LEFT JOIN events e ON e.user_id = u.user_id WHERE u.signup_date < DATE '2023-06-01' GROUP BY 1 ORDER BY 1;

-- # day one: users back on the day after
SELECT COUNT(DISTINCT a.user_id) AS n FROM events a JOIN events b ON a.user_id = b.user_id AND CAST(b.ts AS DATE) = CAST(a.ts AS DATE) + 1;

-- # funnel: how many reached each step
WITH f AS (SELECT user_id, MAX(CASE WHEN event = 'visit' THEN 1 ELSE 0 END) AS v, MAX(CASE WHEN event = 'add_to_cart' THEN 1 ELSE 0 END) AS c, MAX(CASE WHEN event = 'purchase' THEN 1 ELSE 0 END) AS p FROM events GROUP BY user_id)
SELECT SUM(v) AS visited, SUM(v * c) AS carted, SUM(v * c * p) AS bought, ROUND(SUM(v * c * p) / SUM(v), 3) AS conversion FROM f;

-- # ordered funnel: in the order of time
WITH f AS (SELECT user_id, MIN(CASE WHEN event = 'visit' THEN ts END) AS v, MIN(CASE WHEN event = 'purchase' THEN ts END) AS p FROM events GROUP BY user_id)
SELECT COUNT(v) AS visited, COUNT(CASE WHEN p > v THEN 1 END) AS bought_after FROM f;

-- # steps long: funnel as rows
SELECT event, COUNT(DISTINCT user_id) AS users, 1.0 * COUNT(DISTINCT user_id) / FIRST_VALUE(COUNT(DISTINCT user_id)) OVER (ORDER BY COUNT(DISTINCT user_id) DESC) AS of_first FROM events WHERE event IN ('visit', 'add_to_cart', 'purchase') GROUP BY event ORDER BY users DESC;

-- # arpu: money of a user by plan
SELECT u.plan, SUM(e.amount) / COUNT(DISTINCT u.user_id) AS arpu FROM users u JOIN events e USING (user_id) WHERE e.event = 'purchase' GROUP BY u.plan ORDER BY u.plan;

-- # mrr: recurring money by month of signing up
SELECT month, SUM(price) OVER (ORDER BY month) AS mrr FROM (SELECT date_trunc('month', signup_date) AS month, SUM(p.price) AS price FROM users u JOIN plans p ON p.plan = u.plan WHERE signup_date < DATE '2023-06-01' GROUP BY 1) q ORDER BY month;

-- # percent of total: by country
SELECT country, COUNT(*) AS n, ROUND(100.0 * COUNT(*) / (SELECT COUNT(*) FROM users), 1) AS pct FROM users GROUP BY country ORDER BY pct DESC;

-- # percent in group: by country and plan
SELECT country, plan, COUNT(*) * 100.0 / SUM(COUNT(*)) OVER (PARTITION BY country) AS pct FROM users GROUP BY country, plan ORDER BY country, plan;

-- # churned: users of January not seen in February
SELECT COUNT(DISTINCT user_id) AS n FROM events WHERE month(ts) = 1 AND user_id NOT IN (SELECT user_id FROM events WHERE month(ts) = 2);

-- # left join null: the same in another way
SELECT COUNT(DISTINCT a.user_id) AS n FROM (SELECT user_id FROM events WHERE month(ts) = 1) a LEFT JOIN (SELECT DISTINCT user_id FROM events WHERE month(ts) = 2) b ON a.user_id = b.user_id WHERE b.user_id IS NULL;

-- # new and returning: by month
WITH f AS (SELECT user_id, date_trunc('month', MIN(ts)) AS first FROM events GROUP BY user_id)
SELECT date_trunc('month', e.ts) AS month, COUNT(DISTINCT CASE WHEN date_trunc('month', e.ts) = f.first THEN e.user_id END) AS new, COUNT(DISTINCT CASE WHEN date_trunc('month', e.ts) > f.first THEN e.user_id END) AS returning FROM events e JOIN f ON f.user_id = e.user_id GROUP BY 1 ORDER BY 1;

-- # time to convert: days from signing up to the first purchase
SELECT AVG(clamp(date_diff('day', u.signup_date, CAST(p.first AS DATE)), 0, 180)) AS days FROM users u JOIN (SELECT user_id, MIN(ts) AS first FROM events WHERE event = 'purchase' GROUP BY user_id) p ON p.user_id = u.user_id WHERE CAST(p.first AS DATE) >= u.signup_date;

-- # sessions: half an hour apart
WITH g AS (SELECT user_id, ts, CASE WHEN date_diff('minute', lag(ts) OVER (PARTITION BY user_id ORDER BY ts), ts) <= 30 THEN 0 ELSE 1 END AS new FROM events)
SELECT SUM(new) AS sessions, COUNT(*) / SUM(new) AS events_each FROM g;

-- # streaks: days one after another
WITH d AS (SELECT DISTINCT user_id, CAST(ts AS DATE) AS day FROM events), g AS (SELECT user_id, day, day - CAST(row_number() OVER (PARTITION BY user_id ORDER BY day) AS INTEGER) AS island FROM d), s AS (SELECT user_id, island, COUNT(*) AS length FROM g GROUP BY user_id, island)
SELECT COUNT(*) AS streaks FROM s WHERE length >= 2;

-- # longest streak: of each user
WITH d AS (SELECT DISTINCT user_id, CAST(ts AS DATE) AS day FROM events), g AS (SELECT user_id, day, day - CAST(row_number() OVER (PARTITION BY user_id ORDER BY day) AS INTEGER) AS island FROM d), s AS (SELECT user_id, island, COUNT(*) AS length FROM g GROUP BY user_id, island)
SELECT longest, COUNT(*) AS users FROM (SELECT user_id, MAX(length) AS longest FROM s GROUP BY user_id) q GROUP BY longest HAVING COUNT(*) > 0.5 ORDER BY longest;

-- # purchase intervals: days between two purchases
SELECT AVG(clamp(gap, 0, 180)) AS days FROM (SELECT date_diff('day', lag(ts) OVER (PARTITION BY user_id ORDER BY ts), ts) AS gap FROM events WHERE event = 'purchase') q;

-- # second purchase: users with at least two
SELECT COUNT(*) * 1.0 / (SELECT COUNT(DISTINCT user_id) FROM events WHERE event = 'purchase') AS share FROM (SELECT user_id FROM events WHERE event = 'purchase' GROUP BY user_id HAVING COUNT(*) >= 2) q;

-- # first event: what users do first
SELECT event, COUNT(*) AS users FROM (SELECT user_id, event, row_number() OVER (PARTITION BY user_id ORDER BY ts) AS rn FROM events) q WHERE rn = 1 GROUP BY event ORDER BY event;

-- # distinct on: the same in PostgreSQL's words
SELECT event, COUNT(*) AS users FROM (SELECT DISTINCT ON (user_id) user_id, event FROM events ORDER BY user_id, ts) q GROUP BY event ORDER BY event;

-- # qualify: the same by QUALIFY
SELECT event, COUNT(*) AS users FROM (SELECT user_id, event FROM events QUALIFY row_number() OVER (PARTITION BY user_id ORDER BY ts) = 1) q GROUP BY event ORDER BY event;

-- # arg_min: the same by arg_min
SELECT first, COUNT(*) AS users FROM (SELECT user_id, arg_min(event, ts) AS first FROM events GROUP BY user_id) q GROUP BY first ORDER BY first;

-- # pairs of events: what follows what
SELECT event, next, COUNT(*) AS n FROM (SELECT event, lead(event) OVER (PARTITION BY user_id ORDER BY ts) AS next FROM events) q WHERE next IS NOT NULL GROUP BY event, next ORDER BY event, next;

-- # named window: a window with a name over one unit
SELECT AVG(clamp(amount - before, -200, 200)) AS change FROM (SELECT amount, lag(amount) OVER w AS before FROM events WINDOW w AS (PARTITION BY user_id ORDER BY ts)) q;

-- # ntile users: quarters of users by money
SELECT COUNT(*) AS n, AVG(total) AS mean FROM (SELECT user_id, SUM(amount) AS total FROM events GROUP BY user_id) q WHERE total > 500;

-- # buckets: users by money
SELECT CASE WHEN total < 200 THEN '0-200' WHEN total < 800 THEN '200-800' ELSE '800+' END AS bucket, COUNT(*) AS users FROM (SELECT user_id, SUM(amount) AS total FROM events GROUP BY user_id) q GROUP BY 1 ORDER BY 1;

-- # mail hosts: users by host of the mail
SELECT CASE WHEN split_part(email, '@', 2) = 'gmail.com' THEN 'gmail' ELSE 'work' END AS host, COUNT(*) AS n FROM users GROUP BY 1 ORDER BY 1;

-- # referrals: users with a referrer
SELECT COUNT(referrer) AS referred, COUNT(*) - COUNT(referrer) AS organic FROM users;

-- # calendar: all days, with none
SELECT c.day, COUNT(u.user_id) AS signups FROM calendar c LEFT JOIN users u ON u.signup_date = c.day GROUP BY c.day ORDER BY c.day;

-- # series: all days from a series
SELECT d::DATE AS day, COUNT(u.user_id) AS n FROM generate_series(DATE '2023-01-01', DATE '2023-01-31', INTERVAL '1 day') AS g(d) LEFT JOIN users u ON u.signup_date = g.d::DATE GROUP BY 1 ORDER BY 1;

-- # cumulative users: so far
-- max_rows 6
SELECT m.month, COUNT(u.user_id) AS so_far FROM months m LEFT JOIN users u ON u.signup_date < m.month + INTERVAL 1 MONTH GROUP BY m.month ORDER BY m.month;

-- # yoy: two months side by side
SELECT COUNT(*) FILTER (WHERE month(ts) = 5) AS may, COUNT(*) FILTER (WHERE month(ts) = 4) AS april, COUNT(*) FILTER (WHERE month(ts) = 5) - COUNT(*) FILTER (WHERE month(ts) = 4) AS diff FROM events;

-- # last event of users: dormant ones
SELECT COUNT(*) AS dormant FROM (SELECT user_id, MAX(ts) AS last FROM events GROUP BY user_id) q WHERE last < TIMESTAMP '2023-05-01';

-- # ab: a difference of rates with its error
WITH r AS (SELECT u.device, COUNT(DISTINCT u.user_id) AS n, COUNT(DISTINCT u.user_id) FILTER (WHERE e.event = 'purchase') AS x FROM users u JOIN events e ON e.user_id = u.user_id GROUP BY u.device)
SELECT a.x / a.n - b.x / b.n AS lift, sqrt(a.x / a.n * (1 - a.x / a.n) / a.n + b.x / b.n * (1 - b.x / b.n) / b.n) AS se FROM r a, r b WHERE a.device = 'ios' AND b.device = 'android';

-- # median per user: the middle number of events
-- within 0.5
SELECT MEDIAN(n) AS m FROM (SELECT user_id, COUNT(*) AS n FROM events GROUP BY user_id) q;

-- # top pages: pages by share, running
SELECT page, n, SUM(n) OVER (ORDER BY n DESC) / SUM(n) OVER () AS pareto FROM (SELECT page, COUNT(*) AS n FROM events GROUP BY page) q ORDER BY n DESC;

-- # weekday hour: a heat map
SELECT dayofweek(ts) AS d, hour(ts) AS h, COUNT(*) AS n FROM events GROUP BY d, h ORDER BY d, h;

-- # union of events and users: rows of both
SELECT what, COUNT(*) AS n FROM (SELECT user_id, 'event' AS what FROM events UNION ALL SELECT user_id, 'user' AS what FROM users) q GROUP BY what ORDER BY what;

-- # case in order by: custom order
SELECT event, COUNT(*) AS n FROM events GROUP BY event ORDER BY CASE event WHEN 'visit' THEN 1 WHEN 'signup' THEN 2 ELSE 3 END, event;

-- # exists with a join: users who bought while on a paid plan
SELECT COUNT(*) AS n FROM users u WHERE EXISTS (SELECT 1 FROM events e JOIN plans p ON p.plan = u.plan WHERE e.user_id = u.user_id AND e.event = 'purchase' AND p.price > 0);

-- # lateral: the latest event of a user
SELECT l.event, COUNT(*) AS n FROM users u, LATERAL (SELECT event FROM events e WHERE e.user_id = u.user_id ORDER BY ts DESC LIMIT 1) l GROUP BY l.event ORDER BY 1;

-- # correlated count: mean of a correlated count
SELECT AVG(clamp((SELECT COUNT(*) FROM events e WHERE e.user_id = u.user_id AND e.event = 'login'), 0, 15)) AS logins FROM users u;

-- # ilike and regex: pages by pattern
SELECT COUNT(*) FILTER (WHERE page ILIKE '%DOC%') AS docs, COUNT(*) FILTER (WHERE regexp_matches(page, '^/b')) AS blog FROM events;

-- # coalesce of groups: nothing as zero
SELECT p.plan, coalesce(SUM(e.amount), 0) AS total FROM plans p LEFT JOIN users u ON u.plan = p.plan LEFT JOIN events e ON e.user_id = u.user_id AND e.event = 'purchase' GROUP BY p.plan ORDER BY p.plan;

-- # referrals of units: who refers
-- no answer groups
SELECT referrer, COUNT(*) AS n FROM users WHERE referrer IS NOT NULL GROUP BY referrer ORDER BY n DESC LIMIT 10;
