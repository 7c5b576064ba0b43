package invariant

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"path"
	"strings"
)

//go:embed checks/*.sql
var checks embed.FS

// Violation is one finding.
type Violation struct {
	Check  string // the file's name without .sql: its invariant's number first
	Detail string
}

// String is for test output.
func (v Violation) String() string { return v.Check + ": " + v.Detail }

// Find runs every check against the control database that db is open on. atRest adds those that hold only when
// no execution is active.
func Find(ctx context.Context, db *sql.DB, atRest bool) ([]Violation, error) {
	files, err := checks.ReadDir("checks")
	if err != nil {
		return nil, err
	}
	var found []Violation
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".sql")
		if strings.HasSuffix(name, "_at_rest") && !atRest {
			continue
		}
		query, err := checks.ReadFile(path.Join("checks", f.Name()))
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
func run(ctx context.Context, db *sql.DB, name, query string) (found []Violation, err error) {
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
