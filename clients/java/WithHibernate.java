import jakarta.persistence.LockModeType;
import jakarta.persistence.OptimisticLockException;
import jakarta.persistence.ParameterMode;
import jakarta.persistence.PersistenceException;
import jakarta.persistence.Timeout;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.boot.MetadataSources;
import org.hibernate.boot.registry.StandardServiceRegistry;
import org.hibernate.boot.registry.StandardServiceRegistryBuilder;
import org.hibernate.exception.ConstraintViolationException;
import org.hibernate.query.Order;
import org.hibernate.query.Page;

/** Hibernate ORM: tables made and updated from entities, the ORM over them, HQL, locks, procedures. */
public final class WithHibernate extends HibernateModel {
    private static SessionFactory factory;
    private static Long ann;

    public static void main(String[] arguments) {
        Steps.silence();
        Steps.step("hbm2ddl create", () -> boot("create").close());
        Steps.step("hbm2ddl update", () -> boot("update").close());
        Steps.step("hbm2ddl validate", () -> boot("validate").close());
        Steps.step("hbm2ddl drop", () -> boot("drop").close());
        Steps.step("hbm2ddl update of an empty schema", () -> boot("update").close());
        Steps.step("second hbm2ddl update", WithHibernate::updateFindsNothing);
        Steps.step("boot", () -> factory = boot("validate"));
        if (factory == null) {
            Steps.end();
        }
        step("insert", WithHibernate::insert);
        step("read", WithHibernate::read);
        step("change", WithHibernate::change);
        step("batches", WithHibernate::batches);
        step("pages", WithHibernate::pages);
        step("changes in bulk", WithHibernate::bulk);
        Steps.step("upsert", WithHibernate::upsert);
        step("locks", WithHibernate::locks);
        step("lock timeouts", WithHibernate::lockTimeouts);
        step("optimistic locks", WithHibernate::optimistic);
        step("constraints", WithHibernate::constraints);
        step("making procedures", WithHibernate::makeProcedures);
        step("calling procedures", WithHibernate::callProcedures);
        HibernateQueries.each((name, work) -> step(name, session -> work.run(session, ann)));
        step("delete", WithHibernate::delete);
        Steps.step("close", () -> factory.close());
        Steps.step("hbm2ddl create-drop", () -> boot("create-drop").close());
        Steps.step("named enum", WithHibernate::namedEnum);
        Steps.step("inet", WithHibernate::inet);
        Steps.end();
    }

    interface InSession {
        void run(Session session) throws Exception;
    }

    /** A step in a transaction of its own, which is rolled back if it fails. */
    private static void step(String name, InSession work) {
        Steps.step(name, () -> {
            try (Session session = factory.openSession()) {
                var transaction = session.beginTransaction();
                try {
                    work.run(session);
                    transaction.commit();
                } catch (Throwable error) {
                    transaction.rollback();
                    throw error;
                }
            }
        });
    }

    private static StandardServiceRegistryBuilder settings(String generation) {
        return new StandardServiceRegistryBuilder()
            .applySetting("hibernate.connection.url", Steps.url())
            .applySetting("hibernate.connection.username", Steps.user())
            .applySetting("hibernate.connection.password", Steps.password())
            .applySetting("hibernate.hbm2ddl.auto", generation)
            .applySetting("hibernate.hbm2ddl.halt_on_error", "true")
            .applySetting("hibernate.jdbc.batch_size", "30")
            .applySetting("hibernate.order_inserts", "true");
    }

    private static SessionFactory boot(StandardServiceRegistryBuilder settings, Class<?>... entities) {
        StandardServiceRegistry registry = settings.build();
        return new MetadataSources(registry).addAnnotatedClasses(entities).buildMetadata().buildSessionFactory();
    }

    private static SessionFactory boot(String generation) {
        return boot(settings(generation), ENTITIES);
    }

    private static void updateFindsNothing() throws Exception {
        Path script = Files.createTempFile("update", ".sql");
        boot(settings("update")
            .applySetting("jakarta.persistence.schema-generation.scripts.action", "update")
            .applySetting("jakarta.persistence.schema-generation.scripts.create-target", script.toString()), ENTITIES).close();
        Steps.equal(Files.readString(script).trim(), "", "what an update of an unchanged schema does");
        Files.delete(script);
    }

    private static void insert(Session session) throws Exception {
        Author author = new Author();
        author.name = "Ann";
        author.email = "ann@example.org";
        author.born = LocalDate.of(1980, 2, 3);
        author.seen = OffsetDateTime.parse("2024-01-02T03:04:05.678+02:00");
        author.wakes = LocalTime.of(1, 2, 3);
        author.sleeps = Duration.ofSeconds(90, 5000000);
        author.key = UUID.fromString("00000000-0000-0000-0000-00000000000a");
        author.picture = new byte[] {0, 1, -1};
        author.mood = Mood.GLAD;
        author.former = Mood.SAD;
        author.tags = new String[] {"p", "q,\"r", null};
        author.numbers = new int[] {1, 2};
        author.moods = List.of(Mood.SAD, Mood.GLAD);
        author.home = new Home("Bonn", 5, List.of("first"));
        author.details = Map.of("k", List.of(1, 2), "z", "w");
        author.life = "long";
        author.price = new BigDecimal("12.345");
        author.large = new BigInteger("12345678901234567890");
        author.ratio = 0.1;
        author.active = true;
        author.nicks.addAll(List.of("A", "N"));
        author.scores.put("chess", 1);
        for (int number = 0; number < 3; number++) {
            Book book = new Book();
            book.title = "t" + number;
            book.pages = 10 + number;
            book.author = author;
            author.books.add(book);
        }
        Club club = new Club();
        club.code = "small";
        LargeClub large = new LargeClub();
        large.code = "large";
        large.size = 7;
        session.persist(club);
        session.persist(large);
        author.clubs.addAll(List.of(club, large));
        session.persist(author);
        session.flush();
        ann = author.id;
        Steps.equal(author.greeting, "Ann!", "the generated column after the insert");
    }

    private static void read(Session session) throws Exception {
        Author author = session.find(Author.class, ann);
        Steps.equal(author.books.stream().map(book -> book.title).toList(), List.of("t0", "t1", "t2"), "books");
        Steps.equal(Arrays.asList(author.tags), Arrays.asList("p", "q,\"r", null), "tags");
        Steps.equal(author.numbers[1], 2, "the second number");
        Steps.equal(author.moods, List.of(Mood.SAD, Mood.GLAD), "moods");
        Steps.equal(author.home, new Home("Bonn", 5, List.of("first")), "home");
        Steps.equal(author.details.get("z"), "w", "details");
        Steps.equal(author.seen.toInstant(), Instant.parse("2024-01-02T01:04:05.678Z"), "seen");
        Steps.equal(author.wakes, LocalTime.of(1, 2, 3), "wakes");
        Steps.equal(author.sleeps, Duration.ofSeconds(90, 5000000), "sleeps");
        Steps.equal(author.mood, Mood.GLAD, "mood");
        Steps.equal(author.upper, "ANN", "the formula");
        Steps.equal(author.clubs.size(), 2, "clubs");
        Steps.equal(author.scores, Map.of("chess", 1), "scores");
        Steps.equal(author.price, new BigDecimal("12.345"), "price");
        Steps.equal(author.picture[2], (byte) -1, "picture");
        Steps.equal(author.version, 0, "version");
    }

    private static void change(Session session) {
        Author author = session.find(Author.class, ann);
        author.name = "Anna";
        author.nicks.remove("N");
        author.books.remove(0);
        author.home = new Home("Ulm", 6, List.of());
        session.flush();
        session.clear();
        author = session.find(Author.class, ann);
        Steps.equal(author.greeting, "Anna!", "the generated column after an update");
        Steps.equal(author.books.size(), 2, "books after the removal of an orphan");
        Steps.equal(author.home.city(), "Ulm", "city");
        Steps.equal(author.version, 1, "version after a change");
    }

    private static void batches(Session session) {
        for (int number = 0; number < 100; number++) {
            Author author = new Author();
            author.name = "N" + number;
            session.persist(author);
            Seat seat = new Seat();
            seat.place = new Place(number, "a");
            seat.guest = "g" + number;
            session.persist(seat);
            Dog dog = new Dog();
            dog.name = "d" + number;
            session.persist(dog);
            Cat cat = new Cat();
            cat.name = "c" + number;
            cat.lives = number;
            session.persist(cat);
        }
        session.flush();
        Long pets = session.createSelectionQuery("select count(*) from Pet", Long.class).getSingleResult();
        Steps.equal(pets, 200L, "pets");
    }

    private static void pages(Session session) {
        var seats = session.createSelectionQuery("from Seat order by guest", Seat.class);
        List<Seat> page = seats.setFirstResult(10).setMaxResults(5).getResultList();
        Steps.equal(page.stream().map(seat -> seat.guest).toList(), List.of("g18", "g19", "g2", "g20", "g21"), "a page");
        var first = Page.first(10).keyedBy(Order.asc(Cat.class, "id"));
        var cats = session.createSelectionQuery("from Cat", Cat.class).getKeyedResultList(first);
        var more = session.createSelectionQuery("from Cat", Cat.class).getKeyedResultList(cats.getNextPage());
        Steps.equal(more.getResultList().get(0).name, "c10", "the first cat of the second page");
        var like = session.createSelectionQuery("from Seat where guest like :start", Seat.class);
        Steps.equal(like.setParameter("start", "g1%").getResultCount(), 11L, "guests that begin with g1");
    }

    private static void bulk(Session session) {
        int changed = session.createMutationQuery(
            "update Author set price = 1, version = version + 1 where name like 'N1%'").executeUpdate();
        Steps.equal(changed, 11, "authors changed in bulk");
        Steps.equal(session.createMutationQuery("delete from Seat where guest like 'g9%'").executeUpdate(), 11, "seats");
        int inserted = session.createMutationQuery(
            "insert into Seat (place.line, place.letter, guest) values (0, 'a', 'x'), (900, 'a', 'y')"
            + " on conflict (place) do update set guest = excluded.guest").executeUpdate();
        Steps.equal(inserted, 2, "seats inserted or changed");
        session.createMutationQuery("update LargeClub set size = 8, code = 'larger' where code = 'large'").executeUpdate();
        session.createMutationQuery("insert into LargeClub (code, size) values ('new', 1)").executeUpdate();
        session.createMutationQuery("delete from Club where code = 'new'").executeUpdate();
        Steps.equal(session.createSelectionQuery("select sum(size) from LargeClub", Long.class).getSingleResult(), 8L, "size");
    }

    private static void upsert() {
        try (var session = factory.openStatelessSession()) {
            var transaction = session.beginTransaction();
            Seat seat = new Seat();
            seat.place = new Place(5, "a");
            seat.guest = "changed";
            session.upsert(seat);
            seat.place = new Place(5000, "a");
            session.upsert(seat);
            transaction.commit();
            var changed = session.createSelectionQuery("select count(*) from Seat where guest = 'changed'", Long.class);
            Steps.equal(changed.getSingleResult(), 2L, "upserted seats");
        }
    }

    private static void locks(Session session) {
        Steps.expect(session.find(Author.class, ann, LockModeType.PESSIMISTIC_WRITE) != null, "a locked author");
        session.lock(session.find(Club.class, club(session)), LockModeType.PESSIMISTIC_READ);
        int version = session.find(Author.class, ann).version;
        session.find(Author.class, ann, LockModeType.PESSIMISTIC_FORCE_INCREMENT);
        Steps.equal(session.find(Author.class, ann).version, version + 1, "the version after a forced increment");
        var dogs = session.createSelectionQuery("from Dog order by id", Dog.class).setMaxResults(3);
        Steps.equal(dogs.setLockMode(LockModeType.PESSIMISTIC_WRITE).getResultList().size(), 3, "locked dogs");
    }

    private static UUID club(Session session) {
        return session.createSelectionQuery("select id from Club where code = 'small'", UUID.class).getSingleResult();
    }

    /** Another session waits for a locked row: not at all, then for a short while. */
    private static void lockTimeouts(Session session) throws Exception {
        session.find(Author.class, ann, LockModeType.PESSIMISTIC_WRITE);
        for (int milliseconds : new int[] {0, 300}) {
            try (Session other = factory.openSession()) {
                var transaction = other.beginTransaction();
                Timeout limit = Timeout.milliseconds(milliseconds);
                Steps.refused(PersistenceException.class, "a lock after " + milliseconds + " ms",
                    () -> other.find(Author.class, ann, LockModeType.PESSIMISTIC_WRITE, limit));
                transaction.rollback();
            }
        }
    }

    private static void optimistic(Session session) throws Exception {
        Dog mine = first(session);
        try (Session other = factory.openSession()) {
            other.beginTransaction();
            first(other).breed = "theirs";
            other.getTransaction().commit();
        }
        mine.breed = "mine";
        Steps.refused(OptimisticLockException.class, "a change of a dog that another session has changed", session::flush);
        session.clear();
        Steps.equal(first(session).breed, "theirs", "breed");
    }

    private static Dog first(Session session) {
        return session.createSelectionQuery("from Dog order by id", Dog.class).setMaxResults(1).getSingleResult();
    }

    private static void constraints(Session session) throws Exception {
        Book book = new Book();
        book.title = "t1";
        book.author = session.find(Author.class, ann);
        var error = Steps.refused(ConstraintViolationException.class, "a second book t1", () -> {
            session.persist(book);
            session.flush();
        });
        Steps.expect(error.getConstraintName().startsWith("uk"), "the unique constraint, not " + error.getConstraintName());
        session.doWork(connection -> connection.rollback());
        session.clear();
    }

    private static void makeProcedures(Session session) {
        session.createNativeMutationQuery("CREATE PROCEDURE add_to(IN a int, INOUT b int) LANGUAGE plpgsql AS"
            + " $$ BEGIN b := b + a; END $$").executeUpdate();
        session.createNativeMutationQuery("CREATE FUNCTION repeated(a int, b text) RETURNS text LANGUAGE sql AS"
            + " $$ SELECT repeat(b, a) $$").executeUpdate();
    }

    private static void callProcedures(Session session) {
        var procedure = session.createStoredProcedureCall("add_to");
        procedure.registerStoredProcedureParameter(1, Integer.class, ParameterMode.IN);
        procedure.registerStoredProcedureParameter(2, Integer.class, ParameterMode.INOUT);
        procedure.setParameter(1, 3);
        procedure.setParameter(2, 4);
        procedure.execute();
        Steps.equal(procedure.getOutputParameterValue(2), 7, "what the procedure gives");
        var function = session.createStoredProcedureCall("repeated").markAsFunctionCall(String.class);
        function.registerStoredProcedureParameter(1, Integer.class, ParameterMode.IN);
        function.registerStoredProcedureParameter(2, String.class, ParameterMode.IN);
        function.setParameter(1, 3);
        function.setParameter(2, "z");
        Steps.equal(function.getSingleResult(), "zzz", "what the function gives");
        var hql = session.createSelectionQuery("select function('repeated', 2, 'q')", String.class);
        Steps.equal(hql.getSingleResult(), "qq", "what the function gives in HQL");
    }

    private static void delete(Session session) {
        session.remove(session.find(Author.class, ann));
        session.flush();
        Long books = session.createSelectionQuery("select count(*) from Book", Long.class).getSingleResult();
        Steps.equal(books, 0L, "books of an author who is gone");
    }

    private static void namedEnum() {
        for (String generation : List.of("create", "update")) {
            try (SessionFactory made = boot(settings(generation), Feeling.class)) {
                made.inTransaction(session -> {
                    Feeling feeling = new Feeling();
                    feeling.mood = Mood.GLAD;
                    session.persist(feeling);
                    session.flush();
                    var glad = session.createSelectionQuery("from Feeling where mood = :mood", Feeling.class);
                    Steps.expect(glad.setParameter("mood", Mood.GLAD).getResultCount() > 0, "glad feelings");
                });
            }
        }
    }

    private static void inet() throws Exception {
        InetAddress address = InetAddress.getByName("192.168.0.1");
        for (String generation : List.of("create", "update", "validate")) {
            try (SessionFactory made = boot(settings(generation), Visit.class)) {
                made.inTransaction(session -> {
                    Visit visit = new Visit();
                    visit.address = address;
                    session.persist(visit);
                    session.flush();
                    var visits = session.createSelectionQuery("from Visit where address = :address", Visit.class);
                    Steps.equal(visits.setParameter("address", address).getResultList().get(0).address, address, "address");
                });
            }
        }
    }
}
