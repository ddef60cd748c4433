import jakarta.persistence.CascadeType;
import jakarta.persistence.CheckConstraint;
import jakarta.persistence.CollectionTable;
import jakarta.persistence.Column;
import jakarta.persistence.ElementCollection;
import jakarta.persistence.Embeddable;
import jakarta.persistence.EmbeddedId;
import jakarta.persistence.Entity;
import jakarta.persistence.EnumType;
import jakarta.persistence.Enumerated;
import jakarta.persistence.FetchType;
import jakarta.persistence.ForeignKey;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.Index;
import jakarta.persistence.Inheritance;
import jakarta.persistence.InheritanceType;
import jakarta.persistence.JoinColumn;
import jakarta.persistence.JoinTable;
import jakarta.persistence.ManyToMany;
import jakarta.persistence.ManyToOne;
import jakarta.persistence.MapKeyColumn;
import jakarta.persistence.OneToMany;
import jakarta.persistence.OrderBy;
import jakarta.persistence.SequenceGenerator;
import jakarta.persistence.Table;
import jakarta.persistence.UniqueConstraint;
import jakarta.persistence.Version;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.InetAddress;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.hibernate.annotations.ColumnDefault;
import org.hibernate.annotations.CreationTimestamp;
import org.hibernate.annotations.Formula;
import org.hibernate.annotations.GeneratedColumn;
import org.hibernate.annotations.JdbcTypeCode;
import org.hibernate.annotations.NaturalId;
import org.hibernate.annotations.OnDelete;
import org.hibernate.annotations.OnDeleteAction;
import org.hibernate.annotations.UpdateTimestamp;
import org.hibernate.type.SqlTypes;

/** The entities of WithHibernate: one for each way to map that applications use. */
class HibernateModel {
    static final Class<?>[] ENTITIES = {
        Author.class, Book.class, Club.class, LargeClub.class, Pet.class, Dog.class, Cat.class, Seat.class
    };

    enum Mood {
        SAD,
        GLAD
    }

    record Home(String city, int zip, List<String> streets) {}

    @Entity(name = "Author")
    @Table(
        name = "author",
        indexes = {
            @Index(name = "author_name", columnList = "name, born desc"),
            @Index(name = "author_email", columnList = "email", unique = true)
        },
        uniqueConstraints = @UniqueConstraint(name = "author_name_email", columnNames = {"name", "email"}))
    static class Author {
        @Id
        @GeneratedValue(strategy = GenerationType.SEQUENCE, generator = "author_ids")
        @SequenceGenerator(name = "author_ids", sequenceName = "author_ids", allocationSize = 20)
        Long id;
        @Version
        int version;
        @Column(nullable = false, length = 100)
        String name;
        @Column(length = 80)
        String email;
        LocalDate born;
        @CreationTimestamp
        Instant made;
        @UpdateTimestamp
        LocalDateTime changed;
        OffsetDateTime seen;
        LocalTime wakes;
        Duration sleeps;
        UUID key;
        byte[] picture;
        @Enumerated(EnumType.STRING)
        Mood mood;
        @Enumerated(EnumType.ORDINAL)
        Mood former;
        String[] tags;
        int[] numbers;
        List<Mood> moods;
        @JdbcTypeCode(SqlTypes.JSON)
        Home home;
        @JdbcTypeCode(SqlTypes.JSON)
        Map<String, Object> details;
        @Column(columnDefinition = "text")
        String life;
        @Column(precision = 12, scale = 3)
        BigDecimal price;
        BigInteger large;
        double ratio;
        Float share;
        short small;
        boolean active;
        @Formula("upper(name)")
        String upper;
        @ColumnDefault("'none'")
        @Column(length = 20)
        String origin;
        @GeneratedColumn("name || '!'")
        String greeting;
        @OneToMany(mappedBy = "author", cascade = CascadeType.ALL, orphanRemoval = true)
        @OrderBy("title")
        List<Book> books = new ArrayList<>();
        @ElementCollection
        @CollectionTable(name = "author_nick")
        Set<String> nicks = new HashSet<>();
        @ElementCollection
        @MapKeyColumn(name = "game")
        Map<String, Integer> scores = new HashMap<>();
        @ManyToMany
        @JoinTable(name = "author_club")
        Set<Club> clubs = new HashSet<>();
    }

    @Entity(name = "Book")
    @Table(name = "book", check = @CheckConstraint(name = "book_has_pages", constraint = "pages > 0"))
    static class Book {
        @Id
        @GeneratedValue(strategy = GenerationType.IDENTITY)
        Long id;
        @Column(name = "title", unique = true)
        String title;
        int pages = 1;
        @ManyToOne(fetch = FetchType.LAZY, optional = false)
        @JoinColumn(foreignKey = @ForeignKey(name = "book_author"))
        @OnDelete(action = OnDeleteAction.CASCADE)
        Author author;
    }

    /** A table for each class of a hierarchy. */
    @Entity(name = "Club")
    @Inheritance(strategy = InheritanceType.JOINED)
    static class Club {
        @Id
        @GeneratedValue(strategy = GenerationType.UUID)
        UUID id;
        @NaturalId
        String code;
    }

    @Entity(name = "LargeClub")
    static class LargeClub extends Club {
        int size;
    }

    /** One table for a hierarchy, with ids from a table. */
    @Entity(name = "Pet")
    @Inheritance(strategy = InheritanceType.SINGLE_TABLE)
    static class Pet {
        @Id
        @GeneratedValue(strategy = GenerationType.TABLE)
        Long id;
        @Version
        int version;
        String name;
    }

    @Entity(name = "Dog")
    static class Dog extends Pet {
        String breed;
    }

    @Entity(name = "Cat")
    static class Cat extends Pet {
        Integer lives;
    }

    @Embeddable
    record Place(int line, String letter) {}

    @Entity(name = "Seat")
    @Table(name = "seat")
    static class Seat {
        @EmbeddedId
        Place place;
        String guest;
    }

    /** A column of a type made for an enum. */
    @Entity(name = "Feeling")
    @Table(name = "feeling")
    static class Feeling {
        @Id
        @GeneratedValue
        Integer id;
        @JdbcTypeCode(SqlTypes.NAMED_ENUM)
        Mood mood;
    }

    /** A column of an internet address. */
    @Entity(name = "Visit")
    @Table(name = "visit")
    static class Visit {
        @Id
        @GeneratedValue
        Integer id;
        @JdbcTypeCode(SqlTypes.INET)
        InetAddress address;
    }
}
