package invariant

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// textTable is a table with its columns of text.
type textTable struct {
	name    string // quoted, with the schema
	columns []string
}

// shortestSecret is the minimum length of a secret. Shorter ones occur by chance.
const shortestSecret = 6

// FindSecrets looks for secrets in every text column of the tables of the schema jobs_internal, and
// in logs (I9). A violation names a secret by its position in the list, from 1.
func FindSecrets(ctx context.Context, db Querier, secrets []string, logs ...string) ([]Violation, error) {
	const check = "I09_no_secret_in_database_or_logs"
	for i, secret := range secrets {
		if len(secret) < shortestSecret {
			return nil, fmt.Errorf("secret %d is too short to be told from other text: give one of %d characters or more", i+1, shortestSecret)
		}
	}
	tables, err := textTables(ctx, db)
	if err != nil {
		return nil, err
	}
	if len(tables) == 0 {
		return nil, errors.New("the database has no columns of text in jobs_internal: install the control schema")
	}
	var found []Violation
	for _, t := range tables {
		for i, secret := range secrets {
			counts, err := t.count(ctx, db, secret)
			if err != nil {
				return nil, fmt.Errorf("look into %s: %w", t.name, err)
			}
			for c, n := range counts {
				if n > 0 {
					found = append(found, Violation{check, fmt.Sprintf("secret %d occurs in %d rows of %s, column %s", i+1, n, t.name, t.columns[c])})
				}
			}
		}
	}
	for l, entry := range logs {
		for i, secret := range secrets {
			if strings.Contains(entry, secret) {
				found = append(found, Violation{check, fmt.Sprintf("secret %d occurs in log entry %d", i+1, l+1)})
			}
		}
	}
	return found, nil
}

// textTables returns the tables of the schema jobs_internal that have text columns.
func textTables(ctx context.Context, db Querier) (tables []textTable, err error) {
	rows, err := db.QueryContext(ctx, `SELECT CONCAT(QUOTENAME(s.name), N'.', QUOTENAME(o.name)), QUOTENAME(c.name)
FROM sys.tables AS o
INNER JOIN sys.schemas AS s ON s.schema_id = o.schema_id
INNER JOIN sys.columns AS c ON c.object_id = o.object_id
INNER JOIN sys.types AS y ON y.user_type_id = c.system_type_id
WHERE s.name = N'jobs_internal'
    AND y.name IN (N'char', N'nchar', N'varchar', N'nvarchar', N'text', N'ntext')
ORDER BY o.name, c.column_id;`)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var table, column string
		if err := rows.Scan(&table, &column); err != nil {
			return nil, err
		}
		if n := len(tables); n == 0 || tables[n-1].name != table {
			tables = append(tables, textTable{name: table})
		}
		last := &tables[len(tables)-1]
		last.columns = append(last.columns, column)
	}
	return tables, rows.Err()
}

// count counts the rows that contain a secret, by column.
func (t textTable) count(ctx context.Context, db Querier, secret string) (counts []int, err error) {
	var list []string
	for _, c := range t.columns {
		list = append(list, "COUNT(CASE WHEN CHARINDEX(@p1, "+c+") > 0 THEN 1 END)")
	}
	rows, err := db.QueryContext(ctx, "SELECT "+strings.Join(list, ", ")+" FROM "+t.name+";", secret)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	counts = make([]int, len(t.columns))
	into := make([]any, len(counts))
	for i := range counts {
		into[i] = &counts[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
	}
	return counts, rows.Err()
}
