package mssql

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
)

// resultColumn describes a column of a result set.
type resultColumn struct {
	name      string // may be empty
	typ       string // type name of the driver, in capitals
	length    int64  // characters or bytes; very large for (max) types; 0 for types without a length
	precision int64
	scale     int64
}

// resultSet reads one result set of an answer, row by row.
type resultSet struct {
	rows    driver.Rows
	columns []resultColumn
	row     []driver.Value // the current row; valid until the next call of next
	wire    *wire          // to report finished rows
	begun   bool           // there is a current row
	ended   bool
	err     error   // reason if rows are missing at the end
	probed  *probed // gets the rows of a probe; nil for other scripts
}

// typedRows are the driver's rows with the types of their columns.
type typedRows interface {
	driver.Rows
	driver.RowsColumnTypeDatabaseTypeName
	driver.RowsColumnTypeLength
	driver.RowsColumnTypePrecisionScale
}

// newResultSet returns the current result set of an answer; nil if there is none, or if the answer
// broke off.
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

// next reads the next row. After false, err is set if the result set broke off.
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
	if !s.ended && s.probed != nil {
		s.probed.add(s.columns[0], s.row[0])
	}
	return !s.ended
}
