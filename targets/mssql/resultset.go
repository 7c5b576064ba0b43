package mssql

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
)

// resultColumn is what the server says of a column of a result set.
type resultColumn struct {
	name      string // empty: the column has none
	typ       string // the driver's name of the type, in capitals
	length    int64  // characters or bytes; huge for (max) types; 0 for types without
	precision int64
	scale     int64
}

// resultSet reads one result set of an answer, row by row.
type resultSet struct {
	rows    driver.Rows
	columns []resultColumn
	row     []driver.Value // the current row; valid until the next call of next
	wire    *wire          // is told when a row is done with
	begun   bool           // there is a current row
	ended   bool
	err     error // why it ended before its last row
}

// typedRows are the driver's rows with all that it says of their columns.
type typedRows interface {
	driver.Rows
	driver.RowsColumnTypeDatabaseTypeName
	driver.RowsColumnTypeLength
	driver.RowsColumnTypePrecisionScale
}

// newResultSet reads on to the next result set; nil: there is none any more, or the answer broke off.
func newResultSet(answer driver.Rows, w *wire) (*resultSet, error) {
	names := answer.Columns()
	if len(names) == 0 {
		return nil, nil
	}
	typed, ok := answer.(typedRows)
	if !ok {
		return nil, fmt.Errorf("the driver's rows are a %T", answer)
	}
	set := &resultSet{rows: answer, wire: w, row: make([]driver.Value, len(names))}
	for i, name := range names {
		c := resultColumn{name: name, typ: typed.ColumnTypeDatabaseTypeName(i)}
		c.length, _ = typed.ColumnTypeLength(i)
		c.precision, c.scale, _ = typed.ColumnTypePrecisionScale(i)
		set.columns = append(set.columns, c)
	}
	return set, nil
}

// next reads the next row; false: there is none, and err says whether there should be.
func (s *resultSet) next() bool {
	if s.ended {
		return false
	}
	if s.begun {
		clear(s.row)
		s.wire.rowDone()
	}
	s.begun = true
	if err := s.rows.Next(s.row); err != nil {
		s.ended = true
		if !errors.Is(err, io.EOF) {
			s.err = err
		}
	}
	return !s.ended
}
