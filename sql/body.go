package sqlfs

import (
	"regexp"
	"strings"
)

// moduleHead matches the beginning of a module's definition, up to the keyword of its kind.
var moduleHead = regexp.MustCompile(`(?i)^(?:CREATE(?:\s+OR\s+ALTER)?|ALTER)\s+(PROCEDURE|VIEW|TRIGGER)\b`)

// ModuleBody returns a module's text from the keyword PROCEDURE, VIEW or TRIGGER on. The text
// before it is not compared: SQL Server stores CREATE instead of CREATE OR ALTER and keeps the
// blanks around the removed words.
func ModuleBody(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	for rest := text; rest != ""; { // line by line, because the expression is slow on long comments
		line := strings.TrimLeft(rest, " \t")
		if hasPrefixFold(line, "CREATE") || hasPrefixFold(line, "ALTER") {
			if m := moduleHead.FindStringSubmatchIndex(line); m != nil {
				return strings.TrimSpace(line[m[2]:])
			}
		}
		_, rest, _ = strings.Cut(rest, "\n")
	}
	return strings.TrimSpace(text)
}

// hasPrefixFold is strings.HasPrefix without case.
func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}
