package module

import (
	"cmp"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser"
)

// Text returns the text of a module for sys.sql_modules: that of st, which creates or alters it,
// in a batch with a text. It is the text of the whole batch,
// so that line numbers count from the start of the batch. Like SQL Server it replaces ALTER by
// CREATE, and removes the words OR and ALTER from CREATE OR ALTER. The text between the words
// stays, so that three blanks follow CREATE
// (https://sqlquantumleap.com/2018/01/09/t-sql-create-or-alter-part-1).
func Text(text string, st syntax.Stmt, verb syntax.Verb) string {
	if verb == syntax.Create {
		return text
	}
	start := st.Start()
	var kept strings.Builder
	kept.WriteString(text[:start])
	rest := text[start:]
	words := 1
	if verb == syntax.CreateOrAlter {
		words = 3
	}
	for i := range words {
		blank := skipBlank(rest)
		kept.WriteString(rest[:blank])
		rest = strings.TrimLeftFunc(rest[blank:], isLetter)
		if i == 0 {
			kept.WriteString("CREATE")
		}
	}
	return kept.String() + rest
}

// isLetter reports whether a character is an ASCII letter.
func isLetter(c rune) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// skipBlank returns the length of the blanks and comments at the start of a text.
func skipBlank(s string) int {
	i := 0
	for i < len(s) {
		switch {
		case s[i] <= ' ':
			i++
		case strings.HasPrefix(s[i:], "--"):
			n := strings.IndexByte(s[i:], '\n')
			if n < 0 {
				return len(s)
			}
			i += n + 1
		case strings.HasPrefix(s[i:], "/*"):
			n := strings.Index(s[i+2:], "*/")
			if n < 0 {
				return len(s)
			}
			i += n + 4
		default:
			return i
		}
	}
	return i
}

// Parse parses the text of a module and returns its last statement, which defines the module.
// The tree may belong to several instances.
func Parse(m *catalog.Module) (syntax.Stmt, error) {
	if m.Parsed == nil {
		return parseModuleText(m)
	}
	st, err := m.Parsed.Get(func() (any, error) { return parseModuleText(m) })
	if err != nil {
		return nil, err
	}
	return st.(syntax.Stmt), nil
}

// parseModuleText is Parse without a cache.
func parseModuleText(m *catalog.Module) (syntax.Stmt, error) {
	b, err := parser.Parse(m.Text, parser.Options{QuotedIdentifier: m.QuotedIdentifier})
	if err != nil {
		return nil, err
	}
	if len(b.Stmts) == 0 {
		return nil, mserr.NotSupported("a module without a text")
	}
	return b.Stmts[len(b.Stmts)-1], nil
}

// Copy copies a module without its cached unit.
func Copy(to, from *catalog.Module) {
	to.Text = from.Text
	to.AnsiNulls = from.AnsiNulls
	to.QuotedIdentifier = from.QuotedIdentifier
	to.SchemaBound = from.SchemaBound
	to.Encrypted = from.Encrypted
	to.ExecuteAs = from.ExecuteAs
	to.ExecuteAsID = from.ExecuteAsID
}

// IsTemporary reports whether a name is that of a temporary procedure. Global ones (##name) are
// not supported.
func IsTemporary(name string) bool { return strings.HasPrefix(name, "#") }

// fullWords are the words that T-SQL lets statements shorten.
var fullWords = map[string]string{"EXEC": "EXECUTE", "PROC": "PROCEDURE", "TRAN": "TRANSACTION"}

// StatementName returns the name of a statement for messages: its first two words, such as "CREATE
// TABLE".
func StatementName(st syntax.Stmt) string {
	words := st.Words()
	for i, w := range words {
		words[i] = cmp.Or(fullWords[w], w)
	}
	return strings.TrimSpace(words[0] + " " + words[1])
}
