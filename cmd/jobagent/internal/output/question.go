package output

import (
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/jobagent/jobagent/controldb/questions"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/targets/question"
)

// QuestionDetail is a question with why databases have not answered.
type QuestionDetail struct {
	questions.Question

	Errors []QuestionError `json:"errors"`
}

// QuestionError is an error of databases that were asked.
type QuestionError struct {
	Message string   `json:"message"`
	Targets int      `json:"targets"`      // how many databases
	Names   []string `json:"target_names"` // of the first ones, as SERVER/DATABASE
}

// KeptAnswers prints rows that the control database has kept as [Answers] prints rows that come
// from databases, with the same numbers of shapes.
type KeptAnswers struct {
	answers *Answers
	shapes  map[int]keptShape
	open    map[keptSet]question.Rows
}

// keptShape is a shape as [Answers] knows it.
type keptShape struct {
	set     int // number of the result set
	columns []mssql.Column
}

// keptSet names the rows of a database that have one shape.
type keptSet struct {
	server, database string
	shape            int
}

// keptTypes are types of the kinds of columns. A decimal is read as its digits.
var keptTypes = map[string]string{
	string(mssql.KindNumber): "DECIMAL", string(mssql.KindBit): "BIT", string(mssql.KindText): "NVARCHAR", string(mssql.KindTime): "DATETIME2",
	string(mssql.KindBytes): "VARBINARY",
}

// NewKeptAnswers returns a printer of kept rows. The caller calls Close.
func NewKeptAnswers(p *Printer) *KeptAnswers {
	return &KeptAnswers{answers: NewAnswers(p), shapes: map[int]keptShape{}, open: map[keptSet]question.Rows{}}
}

// Shapes tells the shapes of the rows that follow, in the order of their numbers. Those that were
// told before are left as they are.
func (k *KeptAnswers) Shapes(list []questions.Shape) {
	for _, s := range list {
		if _, known := k.shapes[s.Shape]; known {
			continue
		}
		columns := make([]mssql.Column, len(s.Columns))
		for i, c := range s.Columns {
			columns[i] = mssql.Column{Name: c.Name, Type: keptTypes[c.Kind]}
		}
		k.answers.declare(s.ResultSet, columns)
		k.shapes[s.Shape] = keptShape{s.ResultSet, columns}
	}
}

// declare gives the next number to a shape before it has rows.
func (a *Answers) declare(number int, columns []mssql.Column) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.shapeOf(number, columns)
}

// Row prints a row.
func (k *KeptAnswers) Row(r questions.Row) error {
	shape, known := k.shapes[r.Shape]
	if !known || len(r.Values) != len(shape.columns) {
		return fmt.Errorf("row %d: its %d values fit no columns", r.Number, len(r.Values))
	}
	key := keptSet{r.Server, r.Database, r.Shape}
	set := k.open[key]
	if set == nil {
		var err error
		if set, err = k.answers.Begin(targets.NewTarget(r.Server, r.Database, ""), shape.set, shape.columns); err != nil {
			return err
		}
		k.open[key] = set
	}
	row := make([]driver.Value, len(r.Values))
	for i, v := range r.Values {
		value, err := keptValue(v)
		if err != nil {
			return fmt.Errorf("row %d: %w", r.Number, err)
		}
		row[i] = value
	}
	return set.Row(row)
}

// Close writes what was held back.
func (k *KeptAnswers) Close() error {
	var errs []error
	for _, set := range k.open {
		errs = append(errs, set.End(nil))
	}
	return errors.Join(append(errs, k.answers.Close())...)
}

// keptValue returns a value as the driver would: a decimal as its digits.
func keptValue(raw json.RawMessage) (driver.Value, error) {
	switch text := string(raw); {
	case text == "null":
		return nil, nil
	case text == "true" || text == "false":
		return text == "true", nil
	case text != "" && text[0] == '"':
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err
	case isDecimal(text):
		return []byte(text), nil
	default:
		return strconv.ParseFloat(text, 64)
	}
}

// isDecimal reports whether a number has no exponent.
func isDecimal(text string) bool {
	for _, c := range text {
		if c != '-' && c != '.' && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}
