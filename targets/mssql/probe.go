package mssql

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/targets"
)

// probed collects the values that the script of a probe returns.
type probed struct {
	targets.Probed
	sets int // result sets that were begun
}

// probeDigits bounds the length of a value: 38 digits, a sign, a point and a zero before it. A
// longer text is not a number that can be compared.
const probeDigits = 41

// add adds a row whose first column has the value v.
func (p *probed) add(c resultColumn, v driver.Value) {
	p.Rows++
	if p.Rows > 1 || p.sets > 1 {
		return
	}
	switch v := v.(type) {
	case int64:
		p.Value = strconv.FormatInt(v, 10)
	case bool:
		p.Value = "0"
		if v {
			p.Value = "1"
		}
	case float64:
		p.Value = strconv.FormatFloat(v, 'f', 6, 64)
	case []byte: // the driver reads the digits of a decimal as bytes
		switch strings.ToLower(c.typ) {
		case "decimal", "numeric", "money", "smallmoney":
			p.Value = string(v)
		}
	}
	if len(p.Value) > probeDigits {
		p.Value = ""
	}
}

// read reads all remaining result sets of an answer. The error is nil at the end of the answer: the
// next token shows whether it is complete.
func (p *probed) read(ctx context.Context, answer driver.Rows, w *wire) error {
	return eachSet(ctx, answer, w, p.sets > 0, func(set *resultSet) error { // the output table has the first result set
		p.sets++
		set.probed = p
		for set.next() {
			continue
		}
		return nil
	})
}

// eachSet calls visit, which reads all rows, for each result set from the current one on, or from
// the next one. It returns the first error of visit, or nil at the end of the answer: the next
// token shows whether the answer is complete.
func eachSet(ctx context.Context, answer driver.Rows, w *wire, fromNext bool, visit func(*resultSet) error) error {
	next, ok := answer.(driver.RowsNextResultSet)
	if !ok {
		return errors.New("the driver's rows have one result set only")
	}
	if fromNext {
		if err := next.NextResultSet(); err != nil {
			return ended(err)
		}
	}
	for {
		set, err := newResultSet(answer, w)
		if set == nil {
			if err != nil {
				return err
			}
			return ctx.Err() // the driver reports an answer that broke off as one without result sets
		}
		if err := visit(set); err != nil {
			return err
		}
		if set.err != nil {
			return set.err
		}
		if err := next.NextResultSet(); err != nil {
			return ended(err) // the driver's goroutine may not have ended yet, and closing would cancel it
		}
	}
}

// ended returns nil for the end of an answer, otherwise err.
func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
