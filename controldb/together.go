package controldb

import (
	"context"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/controldb/internal/call"
)

// Together makes all calls of fn in one transaction, or none of them. fn gets a store that only
// collects calls: their OUTPUT values (ids, revisions, versions) stay zero, reads fail, and errors
// of the database are returned by Together. If the connection breaks during the commit, the error
// says that the outcome is not known. The calls are sent in as few round trips as their
// arguments allow: one, and the two of the transaction.
func (s *Store) Together(ctx context.Context, op string, fn func(*Store) error) error {
	if s.conn.Records() {
		return fn(s)
	}
	calls, err := s.record(fn)
	if err != nil {
		return err
	}
	return s.conn.Commit(ctx, op, calls)
}

// Rehearse makes all calls of fn in one transaction, as [Store.Together] does, and rolls it back:
// the procedures check what they are given, and nothing is changed.
func (s *Store) Rehearse(ctx context.Context, op string, fn func(*Store) error) error {
	calls, err := s.record(fn)
	if err != nil {
		return err
	}
	return s.conn.Rehearse(ctx, op, calls)
}

// Call is a call of a procedure, to be shown. A parameter that is not given has its default.
type Call struct {
	Procedure string // such as jobs.sp_add_job
	Args      []Arg
}

// Arg is an argument: a text, a number, a bool or a [uuid.UUID]. Instants are texts.
type Arg struct {
	Name  string // without @
	Value any
}

// Record returns the calls of fn, which are not made.
func (s *Store) Record(fn func(*Store) error) ([]Call, error) {
	calls, err := s.record(fn)
	if err != nil {
		return nil, err
	}
	var list []Call
	for _, c := range calls {
		one := Call{Procedure: c.Proc}
		for _, a := range c.Inputs() {
			switch v := a.Value.(type) {
			case mssqldb.UniqueIdentifier:
				a.Value = uuid.UUID(v)
			case mssqldb.NVarCharMax:
				a.Value = string(v)
			}
			one.Args = append(one.Args, Arg{a.Name, a.Value})
		}
		list = append(list, one)
	}
	return list, nil
}

// record collects the calls of fn.
func (s *Store) record(fn func(*Store) error) ([]*call.Call, error) {
	return call.Record(func(c *call.Conn) error { return fn(&Store{conn: c, serverName: s.serverName}) })
}
