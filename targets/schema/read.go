package schema

import (
	"context"
	"database/sql/driver"
	_ "embed"
	"errors"
	"fmt"

	"github.com/jobagent/jobagent/jobs/drift"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/targets/question"
)

// The texts of the queries.
var (
	//go:embed read.sql
	readText string
	//go:embed permissions.sql
	permissionsText string
)

// ErrNoRight means that the login may not read all definitions, so that a schema would look as if
// it lacked objects.
var ErrNoRight = errors.New("the login may not read all definitions there: it needs VIEW DEFINITION on the database")

// Options say what is read.
type Options struct {
	// Permissions reads roles, their members and permissions.
	Permissions bool
}

// Read reads the schema of the session's database, and calls add with each object. Names, columns
// and indexes of one database are in memory meanwhile, but no texts of modules. An error of the
// session is returned as it is; add may have been called then.
func Read(ctx context.Context, s *mssql.Session, o Options, add func(*drift.Object)) error {
	r := newReader(add)
	if err := r.ask(ctx, s, readText, r.sets()); err != nil {
		return err
	}
	if !o.Permissions {
		return nil
	}
	return r.ask(ctx, s, permissionsText, []func(row){r.role, r.member, r.permission})
}

// ask asks a batch, whose result sets go to the functions one after the other. Before the last one
// begins, what is complete is passed on.
func (r *reader) ask(ctx context.Context, s *mssql.Session, text string, sets []func(row)) error {
	number := -1
	err := s.Ask(ctx, text, 1, mssql.Answers{
		Columns: func([]mssql.Column) error {
			switch number++; {
			case number >= len(sets):
				return errors.New("the server sent a result set that was not asked for")
			case number == len(sets)-1:
				r.flush()
			}
			return nil
		},
		Row: func(values []driver.Value) error {
			sets[number](values)
			return r.err
		},
	})
	if err == nil && number != len(sets)-1 {
		return fmt.Errorf("the server sent %d of %d result sets", number+1, len(sets))
	}
	return err
}

// row is a row of an answer.
type row []driver.Value

// int returns an integer; 0 for NULL.
func (r row) int(n int) int64 {
	v, _ := r[n].(int64)
	return v
}

// id returns the ID of an object, a column, a type or an index.
func (r row) id(n int) int32 { return int32(r.int(n)) }

// text returns a text; "" for NULL.
func (r row) text(n int) string {
	switch v := r[n].(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return ""
}

// bit returns a bit; false for NULL.
func (r row) bit(n int) bool {
	v, _ := r[n].(bool)
	return v
}

// Fill reads the schemas of databases into a fleet, and returns the databases that failed.
func Fill(ctx context.Context, servers *mssql.Servers, list []targets.Target, how question.Options, o Options, fleet *drift.Fleet) []question.Failure {
	return question.Each(ctx, servers, list, how, func(ctx context.Context, one *question.One) error {
		entry := fleet.Begin()
		if err := Read(ctx, one.Session, o, entry.Add); err != nil {
			return err
		}
		entry.End(one.Target.String())
		return nil
	})
}
