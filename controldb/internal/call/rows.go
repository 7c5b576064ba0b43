package call

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"
	"github.com/jmoiron/sqlx/reflectx"
	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/jobs/model"
)

// Queryer is a connection, or a pool of connections.
type Queryer interface {
	QueryxContext(ctx context.Context, query string, args ...any) (*sqlx.Rows, error)
}

// SelectRows runs a query and scans each row into a T; see rowScanner. Without rows, the list is
// empty and not nil.
func SelectRows[T any](ctx context.Context, db Queryer, query string, args ...any) ([]T, error) {
	rows, err := db.QueryxContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := []T{}
	scan := Into(&list)
	for rows.Next() {
		if err := scan(rows); err != nil {
			return nil, err
		}
	}
	return list, rows.Err()
}

// SelectOne is SelectRows for a query with exactly one row.
func SelectOne[T any](ctx context.Context, db Queryer, query string, args ...any) (T, error) {
	list, err := SelectRows[T](ctx, db, query, args...)
	if err == nil && len(list) != 1 {
		err = fmt.Errorf("got %d rows, want 1", len(list))
	}
	if err != nil {
		var zero T
		return zero, err
	}
	return list[0], nil
}

// SelectAll runs a SELECT over a view within the call limit; see SelectRows.
func SelectAll[T any](ctx context.Context, conn *Conn, op, query string, args ...any) ([]T, error) {
	if conn.recorded != nil {
		return nil, fmt.Errorf("%s: %w", op, ErrRecording)
	}
	ctx, cancel := conn.Bounded(ctx)
	defer cancel()
	query, args, err := selectFor(ctx, query, args)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	started := time.Now()
	list, err := SelectRows[T](ctx, conn.db, query, args...)
	if err != nil {
		list, err = nil, dberror.TranslateCall(ctx, op, err)
	}
	conn.observe(op, started, err)
	return list, err
}

// Into returns a function that scans the current row into a T and appends it to *list; see
// rowScanner.
func Into[T any](list *[]T) func(*sqlx.Rows) error {
	var scanner rowScanner
	return func(rows *sqlx.Rows) error {
		var row T
		if err := scanner.scan(rows, &row); err != nil {
			return err
		}
		*list = append(*list, row)
		return nil
	}
}

// ScanOne returns a function that scans the only row of a result set into dest, column by column.
// A later schema may have more columns, and an earlier one of the same protocol fewer; a missing
// column leaves its destination unchanged.
func ScanOne(dest ...any) func(*sqlx.Rows) error {
	return func(rows *sqlx.Rows) error {
		columns, err := rows.Columns()
		if err != nil {
			return err
		}
		all := make([]any, len(columns))
		for i := range all {
			all[i] = new(any)
			if i < len(dest) {
				all[i] = nullable(dest[i])
			}
		}
		return rows.Scan(all...)
	}
}

// rowScanner scans the rows of one result set. It keeps the fields of the columns from row to row;
// what sqlx keeps of a result set (StructScan) is not used, because the next one differs.
type rowScanner struct {
	fields [][]int // by column; empty: the type has no field for it
	dests  []any
	unused any // receives the columns without a field
}

// scan scans the current row into the fields of *dest whose db tags are the columns' names, or into
// *dest itself when it is a scalar. A column without a field is skipped: it belongs to a later
// schema. See nullable for NULL.
func (s *rowScanner) scan(rows *sqlx.Rows, dest any) error {
	value := reflect.ValueOf(dest).Elem()
	if d := nullable(dest); d != dest || value.Kind() != reflect.Struct {
		return rows.Scan(d)
	}
	if s.fields == nil {
		columns, err := rows.Columns()
		if err != nil {
			return err
		}
		s.fields = rows.Mapper.TraversalsByName(value.Type(), columns)
		s.dests = make([]any, len(columns))
	}
	for i, field := range s.fields {
		s.dests[i] = &s.unused
		if len(field) > 0 {
			s.dests[i] = nullable(reflectx.FieldByIndexes(value, field).Addr().Interface())
		}
	}
	return rows.Scan(s.dests...)
}

// nullable returns a destination for rows.Scan that stores a column in *dest, and the zero value
// for NULL. Types that it does not know are left to database/sql, which refuses NULL except for
// pointers.
func nullable(dest any) any {
	switch d := dest.(type) {
	case *uuid.UUID:
		return guidColumn{d}
	case *time.Time:
		return nullColumn[time.Time]{d}
	case *string:
		return nullColumn[string]{d}
	case *int:
		return nullColumn[int]{d}
	case *int64:
		return nullColumn[int64]{d}
	case *float64:
		return nullColumn[float64]{d}
	case *model.AgentOptions:
		*d = model.DefaultStep.AgentOptions // an option that has its default is absent
		return jsonColumn{d}
	case *json.RawMessage, *[]json.RawMessage, *[]string, *[]time.Time:
		return jsonColumn{d}
	}
	if t := reflect.TypeOf(dest).Elem(); t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct {
		return jsonColumn{dest}
	}
	return dest
}

// nullColumn scans a column into *dest; NULL is the zero value.
type nullColumn[T any] struct{ dest *T }

// Scan implements sql.Scanner. The driver's own types are assigned without sql.Null, which
// allocates: a pass scans ten columns for each claimed task.
func (c nullColumn[T]) Scan(src any) error {
	if value, ok := src.(T); ok {
		*c.dest = value
		return nil
	}
	if value, ok := src.(int64); ok {
		if dest, ok := any(c.dest).(*int); ok {
			*dest = int(value)
			return nil
		}
	}
	var value sql.Null[T]
	err := value.Scan(src)
	*c.dest = value.V
	return err
}

// ScanNull stores a column in *dest, and the zero value for NULL, for the method Scan of a type.
func ScanNull[T any](dest *T, src any) error { return nullColumn[T]{dest}.Scan(src) }

// guidColumn scans a UNIQUEIDENTIFIER into *dest; NULL is uuid.Nil.
type guidColumn struct{ dest *uuid.UUID }

// Scan implements sql.Scanner.
func (c guidColumn) Scan(src any) error {
	var value mssqldb.NullUniqueIdentifier
	err := value.Scan(src)
	*c.dest = uuid.UUID(value.UUID)
	return err
}

// jsonColumn scans a JSON text into what dest points to. NULL and the empty text leave it
// unchanged.
type jsonColumn struct{ dest any }

// Scan implements sql.Scanner.
func (c jsonColumn) Scan(src any) error {
	var text sql.Null[string]
	if err := text.Scan(src); err != nil || text.V == "" {
		return err
	}
	return json.Unmarshal([]byte(text.V), c.dest)
}
