package invariant

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

//go:embed checks/*.sql clock/*.sql
var checks embed.FS

// Querier runs the checks: a *sql.DB, a connection or a transaction on a control database.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Violation is one finding.
type Violation struct {
	Check  string // name of the file without .sql, which begins with the number of the invariant
	Detail string
}

// String returns the violation for test output.
func (v Violation) String() string { return v.Check + ": " + v.Detail }

// Find runs all checks on the control database of db. atRest adds those that hold only while no
// execution is active.
func Find(ctx context.Context, db Querier, atRest bool) ([]Violation, error) {
	found, err := find(ctx, db, "checks", func(name string) bool { return atRest || !strings.HasSuffix(name, "_at_rest") })
	if err != nil {
		return nil, err
	}
	waves, err := findOutsideWindows(ctx, db)
	if err != nil {
		return nil, err
	}
	databases, err := findOutsideTargetWindows(ctx, db)
	return slices.Concat(found, waves, databases), err
}

// FindClock looks for times of another clock than the database's, or later than now (I5). All times
// of the control database must come from that clock; tests of procedures give their own times.
func FindClock(ctx context.Context, db Querier) ([]Violation, error) {
	return find(ctx, db, "clock", func(string) bool { return true })
}

// find runs the checks of a folder whose names wanted accepts.
func find(ctx context.Context, db Querier, folder string, wanted func(name string) bool) ([]Violation, error) {
	files, err := checks.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var found []Violation
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".sql")
		if !wanted(name) {
			continue
		}
		query, err := checks.ReadFile(path.Join(folder, f.Name()))
		if err != nil {
			return nil, err
		}
		list, err := run(ctx, db, name, string(query))
		if err != nil {
			return nil, fmt.Errorf("check %s: %w", name, err)
		}
		found = append(found, list...)
	}
	return found, nil
}

// run runs one check.
func run(ctx context.Context, db Querier, name, query string) (found []Violation, err error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		v := Violation{Check: name}
		if err := rows.Scan(&v.Detail); err != nil {
			return nil, err
		}
		found = append(found, v)
	}
	return found, rows.Err()
}
