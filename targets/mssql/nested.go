package mssql

import (
	"strings"

	"github.com/jobagent/jobagent/jobs/parameters"
)

// NestedParameter is a parameter of a run that a script inserts into dynamic T-SQL.
type NestedParameter struct {
	// Name is the variable, without $( and ).
	Name string
	// Line is the line of the script, counted from 1.
	Line int
}

// NestedAdvice is the remedy for a parameter within dynamic T-SQL.
const NestedAdvice = "text and JSON are refused within dynamic T-SQL, whose quotes the value could end: " +
	"set the step's option bind_parameters and pass the variable to sp_executesql"

// maxFound bounds what NestedParameters and UnknownNames return.
const maxFound = 1000

// NestedParameters returns the parameters of a run that a script inserts into dynamic T-SQL, at
// most 1,000 of them. At such a place, a text or JSON fails the attempt ([expandRun]). The error is
// a *ScriptError or a *VariableError.
func NestedParameters(script string) ([]NestedParameter, error) {
	batches, err := SplitBatches(script)
	if err != nil {
		return nil, err
	}
	var found []NestedParameter
	for _, b := range batches {
		var executed *executedText
		_, err := expand(b.Text, func(m mention) (string, int, error) {
			name, isParameter, err := checkedName(b.Text[m.at:m.region.end])
			if !isParameter || err != nil {
				return "", 0, err
			}
			if executed == nil {
				executed = executedIn(b.Text)
			}
			if executed.has(m, len(name)+3) && len(found) < maxFound {
				found = append(found, NestedParameter{name, b.Line + m.line(b.Text) - 1})
			}
			return "", 0, nil
		})
		if err != nil {
			return nil, inScript(err, b.Line)
		}
	}
	return found, nil
}

// UnknownName is a name in a script's code that no run replaces.
type UnknownName struct {
	Name string
	Line int
}

// UnknownNameAdvice is the remedy for an unknown name.
const UnknownNameAdvice = "no run replaces it, and the target gets it as it is: write $(param.NAME) for a value of the run, " +
	"or the text itself for a variable of sqlcmd"

// UnknownNames returns the names $(…) in code that are no variables of a script, such as those of
// sqlcmd, at most 1,000 of them. Strings and comments may hold any text.
func UnknownNames(script string) (unknown []UnknownName, err error) {
	batches, err := SplitBatches(script)
	if err != nil {
		return nil, err
	}
	known := RunVariables{}.Variables()
	for _, b := range batches {
		_, err := expand(b.Text, func(m mention) (string, int, error) {
			piece := b.Text[m.at:m.region.end]
			if _, n := known.replace(piece, m.region.kind); n > 0 || m.region.kind != regionCode {
				return "", 0, nil
			}
			if _, isParameter, err := checkedName(piece); isParameter || err != nil {
				return "", 0, nil //nolint:nilerr // NestedParameters reports it
			}
			if end := strings.IndexFunc(piece[2:], func(r rune) bool { return r > 127 || !isNameByte(byte(r)) }); end > 0 && piece[2+end] == ')' && len(unknown) < maxFound {
				unknown = append(unknown, UnknownName{piece[2 : 2+end], b.Line + m.line(b.Text) - 1})
			}
			return "", 0, nil
		})
		if err != nil {
			return nil, inScript(err, b.Line)
		}
	}
	return unknown, nil
}

// ParameterNames returns the parameters of a run that a script uses, such as param.tenant, each
// once. The error is a *ScriptError or a *VariableError.
func ParameterNames(script string) (names []string, err error) {
	batches, err := SplitBatches(script)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, b := range batches {
		_, err := expand(b.Text, func(m mention) (string, int, error) {
			name, found, err := checkedName(b.Text[m.at:m.region.end])
			if found && err == nil && !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
			return "", 0, err
		})
		if err != nil {
			return nil, inScript(err, b.Line)
		}
	}
	return names, nil
}

// inScript changes the line of a *VariableError from one of the batch, which begins at line, to one
// of the script.
func inScript(err error, line int) error {
	if v, ok := err.(*VariableError); ok && v.Line > 0 { //nolint:errorlint // expand has made it
		v.Line += line - 1
	}
	return err
}

// isInsertedAsText reports whether a parameter is inserted as text that may hold delimiters.
func isInsertedAsText(v parameters.Value) bool {
	return v.Kind != parameters.Null && v.Kind != parameters.Bool && v.Kind != parameters.Number
}

// executedText describes which strings of a batch are T-SQL or commands.
type executedText struct {
	text string
	// starts are the offsets of the strings within EXEC (…), or passed to a procedure that executes
	// them.
	starts map[int]bool
	// variable means that the batch executes the text of a variable, of which any string may be a
	// part.
	variable bool
	// quotes is the number of quotes between the offsets from and to. They are counted once for
	// several mentions in one string.
	from, to, quotes int
}

// executors are the procedures that execute their first argument.
var executors = map[string]bool{
	"sp_executesql": true, "sp_msforeachdb": true, "sp_msforeachtable": true, "xp_cmdshell": true,
}

// executedIn finds the strings of a batch that are executed. It is lexical: it does not follow the
// text of a variable. A string that reaches a procedure of the target, or a table whose text is
// executed later, is not found.
func executedIn(text string) *executedText {
	e := &executedText{text: text, starts: map[int]bool{}, from: -1}
	var last string // the word before the current position
	depth := 0
	within := 0              // the depth inside of EXEC ( or OPENQUERY (; 0 outside
	argument := false        // the next value is the first argument of an executor
	var variable string      // the variable that may be this argument, or the argument's name
	settle := func(c byte) { // c follows the variable
		if variable != "" && c != '=' {
			e.variable, argument = true, false
		}
		variable = ""
	}
	for pos := 0; pos < len(text); {
		r := nextRegion(text, pos)
		pos = r.end
		switch r.kind {
		case regionLineComment, regionBlockComment:
			continue
		case regionBracketName, regionQuotedName, regionString:
			settle(text[r.start])
			if within > 0 || argument && r.kind != regionBracketName {
				e.starts[r.start] = true
			}
			argument, last = false, ""
			if r.kind != regionString && r.end-r.start > 2 && executors[strings.ToLower(text[r.start+1:r.end-1])] {
				argument = true
			}
			continue
		}
		for i := r.start; i < r.end; {
			c := text[i]
			if isBlank(c) || c == '\n' {
				i++
				continue
			}
			settle(c)
			if !isNameByte(c) {
				switch c {
				case '(':
					depth++
					if within == 0 && (last == "exec" || last == "execute" || last == "openquery" || last == "openrowset") {
						within = depth
					}
				case ')':
					if depth == within {
						within = 0
					}
					depth = max(depth-1, 0)
				case ';':
					argument = false
				}
				last = ""
				i++
				continue
			}
			end := i
			for end < r.end && isNameByte(text[end]) {
				end++
			}
			last = strings.ToLower(text[i:end])
			i = end
			switch isVariable := last[0] == '@'; {
			case isVariable && within > 0:
				e.variable = true
			case isVariable && argument:
				variable = last
			case last == "n" && end == r.end: // of N'…'
			default:
				argument = executors[last]
			}
		}
	}
	settle(0)
	return e
}

// has reports whether a mention of size bytes is in T-SQL within a string: the string is executed;
// the mention is between doubled quotes; or the mention is embedded in a larger text, in a batch
// that executes a variable.
func (e *executedText) has(m mention, size int) bool {
	r := m.region
	if r.kind != regionString && r.kind != regionQuotedName {
		return false
	}
	if e.starts[r.start] {
		return true
	}
	if r.kind == regionString {
		if e.from != r.start+1 {
			e.from, e.to, e.quotes = r.start+1, r.start+1, 0
		}
		e.quotes += strings.Count(e.text[e.to:m.at], "'")
		if e.to = m.at; e.quotes/2%2 == 1 {
			return true
		}
	}
	whole := m.at == r.start+1 && m.at+size == r.end-1
	return e.variable && !whole
}
