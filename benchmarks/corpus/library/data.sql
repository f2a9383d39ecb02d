-- A public library, in the likeness of Tumult Analytics' tutorials: members, and what they borrow.
CREATE TABLE members AS SELECT i AS id, 'member ' || i AS name, CAST(draw(i, 'a', 90) + 6 AS INTEGER) AS age,
  pick(i, 'g', ['female', 'male', 'nonbinary', 'unspecified']) AS gender,
  pick(i, 'e', ['up-to-high-school', 'college', 'bachelors', 'masters', 'doctorate']) AS education_level,
  CAST(27000 + draw(i, 'z', 40) AS VARCHAR) AS zip_code, CAST(draw(i, 'b', 60) AS INTEGER) AS books_borrowed,
  pick(i, 'fg', ['Fantasy', 'History', 'Poetry', 'Science']) AS favorite_genre,
  DATE '2015-01-01' + CAST(draw(i, 'd', 2500) AS INTEGER) AS date_joined FROM range(1500) AS t(i);
CREATE TABLE checkouts AS SELECT CAST(m AS BIGINT) AS member_id,
  TIMESTAMP '2022-01-01' + to_seconds(draw(m * 12 + n, 't', 300 * 86400)) AS checkout_time,
  'isbn-' || draw(m * 12 + n, 'isbn', 300) AS isbn, draw(m * 12 + n, 'isbn', 300) AS book,
  CAST(draw(m * 12 + n, 'days', 40) AS INTEGER) AS days_kept
FROM range(1500) AS t(m), range(12) AS u(n) WHERE n < draw(m, 'many', 13);
CREATE TABLE books AS SELECT i AS book, 'isbn-' || i AS isbn, 'Book ' || i AS title,
  ['Fantasy', 'History', 'Poetry', 'Science'][i % 4 + 1] AS genre, CAST(1900 + i % 120 AS INTEGER) AS published
FROM range(300) AS t(i);
CREATE TABLE zips AS SELECT CAST(27000 + i AS VARCHAR) AS zip_code, pick(i, 'city', ['Durham', 'Raleigh', 'Cary']) AS city
FROM range(40) AS t(i);
