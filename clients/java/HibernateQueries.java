import java.time.LocalDate;
import java.util.List;
import java.util.function.BiConsumer;
import org.hibernate.ScrollMode;
import org.hibernate.ScrollableResults;
import org.hibernate.Session;

/** WithHibernate's queries in HQL, native SQL and by cursors, over what it has inserted. */
final class HibernateQueries {
    interface Query {
        /** With the id of the author who has books. */
        void run(Session session, Long ann) throws Exception;
    }

    static void each(BiConsumer<String, Query> step) {
        step.accept("HQL joins and groups", HibernateQueries::groups);
        step.accept("HQL arrays", HibernateQueries::arrays);
        step.accept("HQL dates", HibernateQueries::dates);
        step.accept("HQL functions", HibernateQueries::functions);
        step.accept("HQL aggregates", HibernateQueries::aggregates);
        step.accept("HQL subqueries", HibernateQueries::subqueries);
        step.accept("HQL WITH and windows", HibernateQueries::windows);
        step.accept("HQL polymorphism", HibernateQueries::polymorphism);
        step.accept("HQL series", HibernateQueries::series);
        step.accept("native queries", HibernateQueries::natives);
        step.accept("cursors", HibernateQueries::cursors);
    }

    private static Object[] row(Session session, String hql, Long ann) {
        var query = session.createSelectionQuery(hql, Object[].class);
        return (hql.contains(":ann") ? query.setParameter("ann", ann) : query).getSingleResult();
    }

    private static int rows(Session session, String hql) {
        return session.createSelectionQuery(hql, Object.class).getResultList().size();
    }

    private static void groups(Session session, Long ann) {
        Object[] row = row(session, """
            select a.name, count(b), sum(b.pages), listagg(b.title, ',') within group (order by b.title)
            from Author a join a.books b group by a.name having count(b) > 0""", ann);
        Steps.equal(List.of(row).subList(1, 4), List.of(2L, 23L, "t1,t2"), "number, pages and titles of books");
        Steps.equal(rows(session, "from Author a left join fetch a.books left join fetch a.clubs"), 101, "authors");
    }

    private static void arrays(Session session, Long ann) {
        Steps.equal(rows(session, "from Author a where array_contains(a.tags, 'p')"), 1, "authors with tag p");
        Object[] row = row(session, """
            select array_length(a.tags), array_position(a.tags, 'p'), array_to_string(a.numbers, '-')
            from Author a where a.id = :ann""", ann);
        Steps.equal(List.of(row), List.of(3, 1, "1-2"), "functions of arrays");
    }

    private static void dates(Session session, Long ann) {
        Object[] row = row(session, """
            select year(a.born), a.born + 1 day, a.born - 3 month, extract(month from a.born), a.made + 2 hour,
                format(a.born as 'yyyy-MM-dd'), (local date - a.born) by day
            from Author a where a.id = :ann""", ann);
        Steps.equal(List.of(row).subList(0, 4),
            List.of(1980, LocalDate.of(1980, 2, 4), LocalDate.of(1979, 11, 3), 2), "parts and sums of dates");
        Steps.equal(row[5], "1980-02-03", "a formatted date");
    }

    private static void functions(Session session, Long ann) {
        Object[] row = row(session, """
            select case when a.active then 'y' else 'n' end, coalesce(a.origin, 'x'), nullif(a.name, a.origin),
                lower(a.name) || '!', substring(a.name, 1, 2), locate('h', a.name), trim(both ' ' from a.name),
                lpad(a.name, 8, '.'), replace(a.name, 't', 'T'), a.name ilike 'AN%', left(a.name, 1), cast(a.price as string),
                mod(7, 3), round(a.price, 1), sign(a.ratio), greatest(1, 2), power(2, 3), str(a.ratio), local datetime, instant
            from Author a where a.id = :ann""", ann);
        Steps.equal(row[0] + " " + row[3] + " " + row[5] + " " + row[7] + " " + row[11], "y anna! 0 ....Anna 12.345",
            "values of functions");
    }

    private static void aggregates(Session session, Long ann) {
        Object[] row = row(session, """
            select every(a.active), any(a.active), avg(a.ratio), percentile_cont(0.5) within group (order by a.ratio),
                count(*) filter (where a.active), array_agg(a.name) within group (order by a.name)
            from Author a""", ann);
        Steps.equal(row[0] + " " + row[1] + " " + row[4], "false true 1", "aggregates");
    }

    private static void subqueries(Session session, Long ann) {
        Steps.equal(rows(session, "from Author a where exists (select 1 from Book b where b.author = a)"), 1, "exists");
        Steps.equal(rows(session, """
            from Seat s where (s.place.line, s.guest) in (select t.place.line, t.guest from Seat t where t.place.line < 5)
            """), 5, "pairs in a subquery");
        Steps.equal(rows(session, """
            select a.name, l.title from Author a
            join lateral (select b.title as title from a.books b order by b.pages desc limit 1) l"""), 1, "lateral");
        Steps.equal(rows(session, "select name from Dog where name like 'd1%' union all select name from Cat where lives < 3"),
            14, "union");
    }

    private static void windows(Session session, Long ann) {
        Steps.equal(rows(session, """
            select b.title, rank() over (partition by b.author.id order by b.pages desc), lag(b.title) over (order by b.pages)
            from Book b"""), 2, "windows");
        Steps.equal(rows(session, """
            with w as (select b.author.id as aid, max(b.pages) as most from Book b group by b.author.id)
            select a.name, q.most from Author a join w q on q.aid = a.id"""), 1, "WITH");
        Steps.equal(rows(session, """
            with r as (select 1 as n from Club c where c.code = 'small' union all select q.n + 1 as n from r q where q.n < 4)
            select z.n from r z"""), 4, "recursive WITH");
    }

    private static void polymorphism(Session session, Long ann) {
        Steps.equal(rows(session, "from Club c where type(c) = LargeClub"), 1, "large clubs");
        Steps.equal(rows(session, "from Pet p where treat(p as Cat).lives > 97"), 2, "cats of many lives");
        Steps.equal(rows(session, "from Author a where a.mood = Mood.GLAD and a.former = Mood.SAD"), 1, "glad authors");
    }

    private static void series(Session session, Long ann) {
        Steps.equal(rows(session, "select n from generate_series(1, 5) n"), 5, "numbers");
        Steps.equal(rows(session, "select t from Author a join lateral unnest(a.numbers) t"), 2, "unnested numbers");
    }

    private static void natives(Session session, Long ann) {
        var seat = session.createNativeQuery("SELECT s.* FROM seat s WHERE s.line = :line", HibernateModel.Seat.class);
        Steps.equal(seat.setParameter("line", 7).getSingleResult().guest, "g7", "a seat");
        var both = session.createNativeQuery("SELECT {s.*}, {b.*} FROM seat s JOIN book b ON b.pages = s.line", Object[].class);
        Steps.equal(both.addEntity("s", HibernateModel.Seat.class).addEntity("b", HibernateModel.Book.class)
            .getResultList().size(), 2, "seats and books");
    }

    private static void cursors(Session session, Long ann) {
        var authors = session.createSelectionQuery("from Author order by id", HibernateModel.Author.class);
        Steps.equal(authors.setFetchSize(10).stream().count(), 101L, "authors by a cursor");
        try (ScrollableResults<?> scrolled = authors.scroll(ScrollMode.SCROLL_INSENSITIVE)) {
            Steps.expect(scrolled.last() && scrolled.getRowNumber() == 100, "101 authors by scrolling");
        }
    }

    private HibernateQueries() {}
}
