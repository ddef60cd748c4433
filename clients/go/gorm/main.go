// GORM: AutoMigrate twice, the second time with a column more, associations, transactions.
package main

import (
	"log"
	"time"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
)

type Pet struct {
	gorm.Model
	Name    string `gorm:"size:40;uniqueIndex"`
	OwnerID uint
}

type Owner struct {
	ID   uint
	Name string `gorm:"not null;index"`
	Paid float64 `gorm:"type:numeric(10,2);default:0;check:paid >= 0"`
	Pets []Pet `gorm:"constraint:OnDelete:CASCADE"`
	Born *time.Time
}

type OwnerWithMail struct {
	Owner
	Mail string `gorm:"default:none"`
}

func (OwnerWithMail) TableName() string { return "owners" }

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func expect(is bool, what string) {
	if !is {
		log.Fatal("expected: ", what)
	}
}

func main() {
	log.SetFlags(log.Lshortfile)
	db, err := gorm.Open(postgres.Open(""), &gorm.Config{Logger: logger.Default.LogMode(logger.Silent)})
	must(err)
	must(db.AutoMigrate(&Owner{}, &Pet{}))
	must(db.AutoMigrate(&OwnerWithMail{}))
	expect(db.Migrator().HasColumn("owners", "mail"), "the column mail")
	expect(db.Migrator().HasIndex(&Pet{}, "Name"), "the index of names")
	ann := Owner{Name: "ann", Pets: []Pet{{Name: "rex"}, {Name: "tom"}}}
	must(db.Create(&ann).Error)
	var found Owner
	must(db.Preload("Pets").First(&found, "name = ?", "ann").Error)
	expect(len(found.Pets) == 2, "two pets")
	expect(db.Create(&Pet{Name: "rex", OwnerID: ann.ID}).Error != nil, "no second rex")
	must(db.Transaction(func(tx *gorm.DB) error {
		return tx.Model(&found).Update("paid", gorm.Expr("paid + ?", 1.5)).Error
	}))
	must(db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "name"}}, DoNothing: true}).
		Create(&Pet{Name: "tom", OwnerID: ann.ID}).Error)
	var counts []struct {
		Name  string
		Count int
	}
	must(db.Model(&Owner{}).Select("owners.name, count(*) as count").Joins("JOIN pets ON pets.owner_id = owners.id").
		Group("owners.name").Scan(&counts).Error)
	expect(len(counts) == 1 && counts[0].Count == 2, "one owner of two pets")
	must(db.Delete(&found.Pets[0]).Error)
	var left int64
	must(db.Model(&Pet{}).Count(&left).Error)
	expect(left == 1, "one pet that is not deleted softly")
	must(db.Migrator().AlterColumn(&Pet{}, "Name"))
	must(db.Migrator().DropTable(&Pet{}, &Owner{}))
}
