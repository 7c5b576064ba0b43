package controldb

import (
	"context"
	"database/sql"

	"github.com/jmoiron/sqlx"

	"github.com/jobagent/jobagent/controldb/internal/call"
	sqlfs "github.com/jobagent/jobagent/sql"
)

// Pool returns the connections of a store, for tests of what a call leaves behind.
func Pool(s *Store) *sql.DB { return call.DB(s.conn).DB }

// MigrateTo is Migrate with these migrations instead of the embedded ones, for tests of steps.
func MigrateTo(ctx context.Context, s *Store, migrations []sqlfs.Migration, tell func(string)) error {
	objects, err := sqlfs.Objects()
	if err != nil {
		return err
	}
	return s.migrate(ctx, objects, migrations, MigrateOptions{Tell: tell})
}

// ApplyMigrations applies migrations without deploying the procedures of this release, as a
// deployment that ended between the two.
func ApplyMigrations(ctx context.Context, s *Store, upTo int) error {
	migrations, err := sqlfs.Migrations()
	if err != nil {
		return err
	}
	return s.withDeployLock(ctx, func(conn *sqlx.Conn) error {
		m := &migration{conn: conn, MigrateOptions: MigrateOptions{Tell: func(string) {}}}
		return m.applyPending(ctx, migrations[:upTo])
	})
}
