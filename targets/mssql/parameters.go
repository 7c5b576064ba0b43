package mssql

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/parameters"
)

// VariableError means that a script cannot be sent because of one of its variables. The next
// attempt of the same run would have the same error.
type VariableError struct {
	// Name is the variable, without $( and ).
	Name string
	// Line is the line of the script, counted from 1; 0 if unknown.
	Line int
	// Err is the reason, with the remedy. It does not hold the variable's value.
	Err error
}

// Error implements error.
func (e *VariableError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("script variable $(%s) in line %d: %v", e.Name, e.Line, e.Err)
	}
	return fmt.Sprintf("script variable $(%s): %v", e.Name, e.Err)
}

// Unwrap returns the reason.
func (e *VariableError) Unwrap() error { return e.Err }

// checkedName returns the name of the variable at the beginning of text, which begins with $( and
// is the rest of a region. found is false if the name belongs neither to the run's parameters nor
// to secrets; the text may then belong to the script. The error is a *VariableError.
func checkedName(text string) (name string, found bool, err error) {
	rest := text[2:]
	end := 0
	for end < len(rest) && (isNameByte(rest[end]) || rest[end] == '.' || rest[end] == '-') {
		end++
	}
	name = rest[:end]
	secret := strings.HasPrefix(strings.ToLower(name), action.PrefixSecret)
	if !parameters.IsName(name) && !secret {
		return "", false, nil
	}
	if end == len(rest) || rest[end] != ')' {
		if !strings.Contains(name, ".") {
			return "", false, nil // such as $(payload_of_mine or $(payload x)
		}
		err := errors.New("want letters, digits, _, - and dots up to the closing bracket")
		return "", false, &VariableError{Name: name, Err: err}
	}
	if secret {
		return "", false, &VariableError{Name: name, Err: errors.New("a secret cannot stand in a T-SQL script, " +
			"which servers keep in plan caches and traces; use a credential, or an action")}
	}
	return name, true, nil
}

// The errors of names without a value.
var (
	errNoParameters = errors.New("the run has no parameters; give them when the job is started, or to the schedule")
	errNoParameter  = errors.New("the run's parameters have no such name (names are compared exactly)")
)

// parameterValue returns the parameter with a name.
func parameterValue(p *parameters.Parameters, name string) (parameters.Value, error) {
	v, ok := p.Lookup(name)
	switch {
	case ok:
		return v, nil
	case p == nil:
		return v, &VariableError{Name: name, Err: errNoParameters}
	default:
		return v, &VariableError{Name: name, Err: errNoParameter}
	}
}

// bareParameter returns a parameter as a T-SQL constant for a place in code. Only values that are
// certainly one constant are allowed there.
func bareParameter(name string, v parameters.Value) (string, error) {
	switch v.Kind {
	case parameters.Null:
		return "NULL", nil
	case parameters.Bool:
		if v.Text == "true" {
			return "1", nil
		}
		return "0", nil
	case parameters.Number:
		if strings.HasPrefix(v.Text, "-") {
			return " " + v.Text, nil // a minus sign before the variable must not make it a comment
		}
		return v.Text, nil
	}
	what := "text"
	if v.Kind == parameters.JSON {
		what = "an object or array"
	}
	return "", &VariableError{Name: name, Err: fmt.Errorf("its value is %s, which is allowed only within a string, [name] "+
		"or \"name\": write N'$(%s)', or set the step's option bind_parameters and use a variable", what, name)}
}

// Bound variables.

// ddlBatch matches batches that must begin with their statement. They take no variables, because
// the server refuses such a statement after declarations.
var ddlBatch = regexp.MustCompile(`(?i)^(CREATE|ALTER|CREATE\s+OR\s+ALTER)\s+` +
	`(PROC|PROCEDURE|FUNCTION|VIEW|TRIGGER|SCHEMA|DEFAULT|RULE)\b`)

// maxIdentifier is the length of T-SQL's names in UTF-16 code units, the @ of a variable included.
const maxIdentifier = 128

// identifier matches what may follow the @ of a variable.
var identifier = regexp.MustCompile(`^[\p{L}_][\p{L}\p{Nd}_@#$]*$`)

// bound returns the variables that a batch mentions, with the run's parameters as their values. nil
// means that the batch is sent unchanged.
func bound(batch string, p *parameters.Parameters) []driver.NamedValue {
	if p == nil {
		return nil
	}
	mentioned, ddl := variablesOf(batch)
	if ddl || len(mentioned) == 0 {
		return nil
	}
	var args []driver.NamedValue
	add := func(name string, v parameters.Value) {
		args = append(args, driver.NamedValue{Name: name, Ordinal: len(args) + 1, Value: boundValue(v)})
	}
	whole := true // no parameter has the name payload
	for _, name := range p.Names() {
		key := strings.ToLower(name)
		if key == parameters.Payload {
			whole = false
		}
		if !mentioned[key] || !identifier.MatchString(name) || utf8.RuneCountInString(name) >= maxIdentifier {
			continue
		}
		v, _ := p.Member(name)
		add(name, v)
	}
	if whole && mentioned[parameters.Payload] {
		v, _ := p.Lookup(parameters.Payload)
		add(parameters.Payload, v)
	}
	return args
}

// variablesOf returns the names of the local variables in a batch, in lower case and without @, and
// whether the batch is one of ddlBatch.
func variablesOf(batch string) (names map[string]bool, ddl bool) {
	names = map[string]bool{}
	first := true
	for pos := 0; pos < len(batch); {
		r := nextRegion(batch, pos)
		pos = r.end
		if r.kind == regionLineComment || r.kind == regionBlockComment {
			continue
		}
		text := batch[r.start:r.end]
		if r.kind != regionCode {
			first = false
			continue
		}
		if first && strings.TrimSpace(text) != "" {
			first = false
			ddl = ddlBatch.MatchString(strings.TrimSpace(text))
		}
		for i := 0; i < len(text); {
			if !isNameByte(text[i]) {
				i++
				continue
			}
			end := i
			for end < len(text) && isNameByte(text[end]) {
				end++
			}
			if word := text[i:end]; len(word) > 1 && word[0] == '@' && word[1] != '@' {
				names[strings.ToLower(word[1:])] = true
			}
			i = end
		}
	}
	return names, ddl
}

// boundValue returns the value of a variable. Its Go type decides the T-SQL type (DESIGN.md,
// "Parameters").
func boundValue(v parameters.Value) driver.Value {
	switch v.Kind {
	case parameters.Null:
		return sql.NullString{} // the driver declares NVARCHAR(4000)
	case parameters.Bool:
		return v.Text == "true"
	case parameters.Number:
		if n, err := strconv.ParseInt(v.Text, 10, 64); err == nil {
			return n
		}
		if f, err := strconv.ParseFloat(v.Text, 64); err == nil {
			return f
		}
		return mssqldb.NVarCharMax(v.Text) // beyond the range of FLOAT
	}
	return mssqldb.NVarCharMax(v.Text)
}
