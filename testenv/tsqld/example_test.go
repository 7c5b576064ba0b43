package tsqld_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/testenv/tsqld"
)

// Start the embedded server in a test, connect to it through the in-memory pipe, and run T-SQL.
func Example() {
	ctx := context.Background()
	server, err := tsqld.New(tsqld.Config{SAPassword: "secret"})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close(ctx)

	connector, err := mssql.NewConnector("sqlserver://sa:secret@tsqld?encrypt=disable")
	if err != nil {
		log.Fatal(err)
	}
	connector.Dialer = server.Dialer()
	db := sql.OpenDB(connector)
	defer db.Close()

	_, err = db.ExecContext(ctx, `
		CREATE TABLE dbo.books (id int IDENTITY PRIMARY KEY, title nvarchar(50) NOT NULL);
		INSERT INTO dbo.books (title) VALUES (N'Moby-Dick'), (N'Walden');`)
	if err != nil {
		log.Fatal(err)
	}
	var id int
	var title string
	err = db.QueryRowContext(ctx, "SELECT TOP (1) id, title FROM dbo.books ORDER BY title DESC").Scan(&id, &title)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(id, title)
	// Output: 2 Walden
}
