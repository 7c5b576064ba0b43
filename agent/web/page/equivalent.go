package page

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/controldb"
)

// The doors of equivalents.
const (
	DoorCLI        = "CLI"
	DoorPowerShell = "CLI (PowerShell)"
	DoorTSQL       = "T-SQL"
	DoorFile       = "File for jobagent apply"
	DoorTargets    = "File targets.txt"
)

// CLI returns the command "jobagent" with arguments, quoted for POSIX shells, and for PowerShell
// too where that differs.
func CLI(args ...string) []Equivalent {
	posix, power := make([]string, 0, len(args)+1), make([]string, 0, len(args)+1)
	posix, power = append(posix, "jobagent"), append(power, "jobagent")
	for _, a := range args {
		posix, power = append(posix, quotePOSIX(a)), append(power, quotePowerShell(a))
	}
	list := []Equivalent{{Door: DoorCLI, Text: strings.Join(posix, " ")}}
	if other := strings.Join(power, " "); other != list[0].Text {
		list = append(list, Equivalent{Door: DoorPowerShell, Text: other})
	}
	return list
}

// plainArgument reports whether no shell gives any of an argument's characters a meaning.
func plainArgument(text string) bool {
	return text != "" && strings.IndexFunc(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=+", r))
	}) < 0
}

// quotePOSIX quotes an argument for sh, bash and zsh. Control characters are written as $'…' of
// POSIX.1-2024, so that a terminal does not act on a pasted text.
func quotePOSIX(text string) string {
	if plainArgument(text) {
		return text
	}
	if strings.IndexFunc(text, hiddenOrBreak) < 0 {
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for _, r := range text {
		switch {
		case r == '\'' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case hiddenOrBreak(r):
			for _, one := range []byte(string(r)) {
				fmt.Fprintf(&b, `\%03o`, one)
			}
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('\'')
	return b.String()
}

// quotePowerShell quotes an argument for PowerShell 7.3 or later. PowerShell takes typographic
// quotes for quotes.
func quotePowerShell(text string) string {
	if plainArgument(text) {
		return text
	}
	if strings.IndexFunc(text, hiddenOrBreak) < 0 {
		var b strings.Builder
		b.WriteByte('\'')
		for _, r := range text {
			if strings.ContainsRune("'\u2018\u2019\u201a\u201b", r) {
				b.WriteRune(r)
			}
			b.WriteRune(r)
		}
		b.WriteByte('\'')
		return b.String()
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case strings.ContainsRune("\"`$\u201c\u201d\u201e", r):
			b.WriteByte('`')
			b.WriteRune(r)
		case hiddenOrBreak(r):
			fmt.Fprintf(&b, "`u{%x}", r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// hiddenOrBreak reports whether a character must not stand in a pasted command.
func hiddenOrBreak(r rune) bool { return hidden(r) || unicode.IsControl(r) }

// Arg is an argument of a procedure. Value is a string, a number, a bool, a uuid.UUID, a time.Time
// or nil.
type Arg = controldb.Arg

// TSQL returns a call of a procedure such as "jobs.sp_start_job". Arguments whose value is nil are
// left out.
func TSQL(procedure string, args ...Arg) Equivalent {
	return Script([]controldb.Call{{Procedure: procedure, Args: args}})
}

// maxPiece is the length of a piece of a text, in UTF-16 code units. A concatenation of constants
// has at most 4,000 of them.
const maxPiece = 2000

// Script returns calls of procedures as a script: several are made in one transaction. Arguments
// whose value is nil are left out. The script does not compare revisions, so that it also runs
// elsewhere.
func Script(calls []controldb.Call) Equivalent {
	var b strings.Builder
	if len(calls) > 1 {
		b.WriteString("SET XACT_ABORT ON;\nBEGIN TRANSACTION;\n")
	}
	variables := 0
	for _, c := range calls {
		call, separator := "EXECUTE "+c.Procedure, " "
		for _, a := range c.Args {
			if a.Name == "if_match" || a.Value == nil {
				continue
			}
			value, constant := literal(a.Value)
			if !constant { // an argument cannot be an expression
				variables++
				value = fmt.Sprintf("@%s%d", a.Name, variables)
				fmt.Fprintf(&b, "DECLARE %s nvarchar(max) = N'';\n", value)
				for _, piece := range pieces(fmt.Sprint(a.Value)) {
					text, _ := literal(piece)
					fmt.Fprintf(&b, "SET %s += %s;\n", value, text)
				}
			}
			call += separator + "@" + a.Name + " = " + value
			separator = ", "
		}
		b.WriteString(call + ";\n")
	}
	if len(calls) > 1 {
		b.WriteString("COMMIT TRANSACTION;\n")
	}
	return Equivalent{Door: DoorTSQL, Text: strings.TrimSuffix(b.String(), "\n")}
}

// pieces cuts a text behind its line feeds, and long lines.
func pieces(text string) []string {
	var list []string
	for line := range strings.SplitAfterSeq(text, "\n") {
		for line != "" {
			n, end := 0, len(line)
			for i, r := range line {
				if n >= maxPiece {
					end = i
					break
				}
				n += max(1, utf16.RuneLen(r))
			}
			list, line = append(list, line[:end]), line[end:]
		}
	}
	return list
}

// Query returns a query. Its text is a constant, so that .ci/bind checks it, and declares variables
// with the placeholder N'?': each is replaced by a value. A number in place of a text is converted.
func Query(text string, values ...any) Equivalent {
	var b strings.Builder
	for _, v := range values {
		before, after, found := strings.Cut(text, "N'?'")
		if !found {
			break
		}
		b.WriteString(before + Literal(v))
		text = after
	}
	return Equivalent{Door: DoorTSQL, Text: b.String() + text}
}

// Literal returns a value as a T-SQL expression, to compare a column with.
func Literal(value any) string {
	text, _ := literal(value)
	return text
}

// literal returns a value as T-SQL, and whether it is a constant: else it is an expression.
func literal(value any) (text string, constant bool) {
	switch v := value.(type) {
	case nil:
		return "NULL", true
	case string:
		return textLiteral(v)
	case bool:
		if v {
			return "1", true
		}
		return "0", true
	case uuid.UUID:
		return "'" + v.String() + "'", true
	case time.Time:
		return "'" + v.UTC().Format("2006-01-02T15:04:05.9999999") + "'", true
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), true
	case int, int16, int32, int64, uint8:
		return fmt.Sprint(v), true
	}
	return textLiteral(fmt.Sprint(value))
}

// textLiteral returns a Unicode constant. Control characters are written as NCHAR; a constant that
// has a backslash before a line break would lose both.
func textLiteral(text string) (string, bool) {
	quote := func(s string) string { return "N'" + strings.ReplaceAll(s, "'", "''") + "'" }
	if strings.IndexFunc(text, hiddenOrBreak) < 0 {
		return quote(text), true
	}
	var parts []string
	plain := 0
	for i, r := range text {
		if !hiddenOrBreak(r) {
			continue
		}
		if i > plain {
			parts = append(parts, quote(text[plain:i]))
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			parts = append(parts, fmt.Sprintf("NCHAR(%d)", unit))
		}
		plain = i + len(string(r))
	}
	if plain < len(text) {
		parts = append(parts, quote(text[plain:]))
	}
	if len(parts) == 1 {
		parts = append(parts, "N''") // so that it is Unicode of any length
	}
	return strings.Join(parts, " + "), false
}
