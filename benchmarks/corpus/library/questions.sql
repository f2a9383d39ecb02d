-- # members: how many members there are
SELECT COUNT(*) AS members FROM members;

-- # minors: how many of them are minors
SELECT COUNT(*) AS minors FROM members WHERE age < 18;

-- # both: adults and minors at once
SELECT COUNT_IF(age < 18) AS minors, COUNT_IF(age >= 18) AS adults FROM members;

-- # borrowed: books that were borrowed, in all and on average
SELECT SUM(books_borrowed) AS total, AVG(books_borrowed) AS mean FROM members;

-- # middle: the median number of books
SELECT MEDIAN(books_borrowed) AS m FROM members;
-- truth
SELECT CAST(quantile_disc(books_borrowed, 0.5) AS DOUBLE) AS m FROM members;

-- # by education: members by education
SELECT education_level, COUNT(*) AS n FROM members GROUP BY education_level ORDER BY n DESC;

-- # by education and gender: the mean number of books by both
SELECT education_level, gender, AVG(books_borrowed) AS books FROM members GROUP BY ALL ORDER BY ALL;

-- # young by education: the same of young members, who need not be everywhere
SELECT education_level, COUNT(*) AS n FROM members WHERE age = 80 GROUP BY education_level ORDER BY education_level;

-- # binned ages: members by decade of age
SELECT concat(age // 10 * 10, 's') AS decade, COUNT(*) AS n FROM members WHERE age IS NOT NULL
GROUP BY decade ORDER BY decade;

-- # joined: members by year of joining
SELECT extract(year FROM date_joined) AS y, COUNT(*) AS n FROM members GROUP BY y ORDER BY y;

-- # seniority: how many years members have been there, as of a date
SELECT AVG(date_diff('year', date_joined, DATE '2022-01-01')) AS years FROM members;

-- # cities: members by city
SELECT city, COUNT(*) AS n FROM members JOIN zips USING (zip_code) GROUP BY city ORDER BY city;

-- # zip prefix: members by a part of the zip code
SELECT left(zip_code, 4) AS zip, COUNT(*) AS n FROM members GROUP BY zip ORDER BY zip;

-- # zips: members by zip code, the greatest first
SELECT zip_code, COUNT(*) AS n FROM members GROUP BY zip_code ORDER BY n DESC, zip_code LIMIT 5;

-- # spread: how numbers of books are spread, by genre
SELECT favorite_genre, STDDEV(books_borrowed) AS s, VARIANCE(books_borrowed) AS v FROM members GROUP BY ALL ORDER BY ALL;

-- # checkouts: how many there are, and of how many members
SELECT COUNT(*) AS n, COUNT(DISTINCT member_id) AS members FROM checkouts;

-- # months: checkouts by month
SELECT date_trunc('month', checkout_time) AS m, COUNT(*) AS n FROM checkouts GROUP BY m ORDER BY m;

-- # months of a sub-query: the same through a sub-query
SELECT m, COUNT(*) AS n FROM (SELECT date_trunc('month', checkout_time) AS m FROM checkouts) AS c GROUP BY m ORDER BY m;

-- # genres: checkouts by genre of the book
SELECT genre, COUNT(*) AS n, AVG(days_kept) AS days FROM checkouts JOIN books ON checkouts.isbn = books.isbn
GROUP BY genre ORDER BY n DESC;

-- # books: the five most borrowed books
SELECT title, COUNT(*) AS n FROM checkouts JOIN books USING (book) GROUP BY title ORDER BY n DESC, title LIMIT 5;

-- # unread: books that were borrowed less than ten times
SELECT b.title, COUNT(c.member_id) AS n FROM books AS b LEFT JOIN checkouts AS c ON b.book = c.book GROUP BY b.title
HAVING COUNT(c.member_id) < 14 ORDER BY b.title;

-- # gender and genre: checkouts by gender of the member and genre of the book
SELECT gender, genre, COUNT(*) AS n FROM members JOIN checkouts ON id = member_id JOIN books USING (book)
GROUP BY gender, genre ORDER BY gender, genre;

-- # favourite: checkouts of members' own favourite genre
SELECT favorite_genre, COUNT(*) AS n FROM members AS m JOIN checkouts AS c ON m.id = c.member_id
JOIN books AS b ON c.book = b.book WHERE b.genre = m.favorite_genre GROUP BY favorite_genre ORDER BY 1;

-- # never: members who never borrowed
SELECT COUNT(*) AS n FROM members AS m WHERE NOT EXISTS (SELECT 1 FROM checkouts AS c WHERE c.member_id = m.id);

-- # kept long: members who kept a book for long
SELECT gender, COUNT(*) AS n FROM members WHERE id IN (SELECT member_id FROM checkouts WHERE days_kept > 28)
GROUP BY gender ORDER BY gender;

-- # more than: members with a checkout longer than their own mean
SELECT COUNT(*) AS n FROM checkouts AS c WHERE days_kept > (SELECT AVG(days_kept) FROM checkouts AS d
  WHERE d.member_id = c.member_id);

-- # correlated: members with more checkouts than a tenth of what they borrowed
SELECT COUNT(*) AS n FROM members AS m WHERE (SELECT COUNT(*) FROM checkouts AS c WHERE c.member_id = m.id)
  > m.books_borrowed / 10;

-- # any: members who kept a book longer than any number of days
SELECT COUNT(*) AS n FROM members AS m WHERE 25 < ANY (SELECT days_kept FROM checkouts AS c WHERE c.member_id = m.id);

-- # all: members who kept all books for at most twenty days
SELECT COUNT(*) AS n FROM members AS m WHERE 20 >= ALL (SELECT days_kept FROM checkouts AS c WHERE c.member_id = m.id);

-- # per member: the mean of what members borrow, and its spread
SELECT AVG(n) AS mean, STDDEV(n) AS spread FROM (SELECT member_id, COUNT(*) AS n FROM checkouts GROUP BY member_id) AS c;

-- # distribution: members by number of checkouts
SELECT n, COUNT(*) AS members FROM (SELECT member_id, COUNT(*) AS n FROM checkouts GROUP BY member_id) AS c
WHERE n BETWEEN 1 AND 12 GROUP BY n ORDER BY n;

-- # last: days since the last checkout, on average
SELECT AVG(date_diff('day', last, TIMESTAMP '2022-11-01')) AS days FROM (SELECT member_id, MAX(checkout_time) AS last
  FROM checkouts GROUP BY member_id) AS c;

-- # first genre: members by the genre of their first book
SELECT genre, COUNT(*) AS n FROM (SELECT member_id, book FROM checkouts
  QUALIFY row_number() OVER (PARTITION BY member_id ORDER BY checkout_time) = 1) AS f JOIN books USING (book)
GROUP BY genre ORDER BY genre;

-- # genres of a member: how many genres a member reads
SELECT AVG(g) AS genres FROM (SELECT member_id, COUNT(DISTINCT genre) AS g FROM checkouts JOIN books USING (book)
  GROUP BY member_id) AS c;

-- # share of long: the share of long checkouts by genre, above the rest
WITH g AS (SELECT genre, COUNT(*) AS n, COUNT_IF(days_kept > 21) AS long FROM checkouts JOIN books USING (book)
  GROUP BY genre), t AS (SELECT SUM(long) / SUM(n) AS share FROM g)
SELECT genre, long / n AS share, long / n - t.share AS above FROM g, t ORDER BY genre;

-- # read by old and young: checkouts by class of age, side by side
SELECT genre, COUNT(*) FILTER (WHERE age < 30) AS young, COUNT(*) FILTER (WHERE age >= 60) AS old
FROM members JOIN checkouts ON id = member_id JOIN books USING (book) GROUP BY genre ORDER BY genre;

-- # busy hour: the hour with the most checkouts
SELECT hour(checkout_time) AS h, COUNT(*) AS n FROM checkouts GROUP BY h ORDER BY n DESC, h LIMIT 1;

-- # names: the names of members
-- no answer rows
SELECT name FROM members WHERE age < 18;
-- instead
SELECT COUNT(*) FROM members WHERE age < 18;

-- # top readers: who reads most
-- no answer unit
SELECT name, COUNT(*) AS n FROM members JOIN checkouts ON id = member_id GROUP BY name ORDER BY n DESC LIMIT 3;

-- # read together: members who read the same book on the same day
-- no answer pairs
SELECT COUNT(*) AS n FROM checkouts AS a JOIN checkouts AS b ON a.book = b.book AND a.member_id <> b.member_id
  AND a.checkout_time::DATE = b.checkout_time::DATE;
-- instead
SELECT COUNT(*) AS n FROM checkouts AS a JOIN checkouts AS b ON a.member_id = b.member_id AND a.book = b.book;
