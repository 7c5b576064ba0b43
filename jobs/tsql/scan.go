package tsql

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// TokenKind is the kind of a token.
type TokenKind int

// The kinds of tokens.
const (
	Word      TokenKind = iota // an identifier or keyword, without its brackets or quotes
	Variable                   // with its @
	String                     // the value of a string, without N and quotes
	Number                     // digits, perhaps with a point, or 0x and digits
	Symbol                     // one character
	Separator                  // a line with GO, which ends a batch
)

// Token is a token of a script.
type Token struct {
	Kind TokenKind
	Text string
	// Quoted means that a word was in brackets or double quotes.
	Quoted bool
	Line   int
}

// Is reports whether the token is a word that was not quoted, in any case.
func (t Token) Is(word string) bool {
	return t.Kind == Word && !t.Quoted && strings.EqualFold(t.Text, word)
}

// separator matches a line that ends a batch, as sqlcmd and SSMS read it.
var separator = regexp.MustCompile(`^(?i:go)(?:[ \t]+\d+)?[ \t]*(?:--[^\n]*)?;?[ \t]*$`)

// Scan returns the tokens of a script, without comments. A line with GO inside a string is part of
// that string, although clients would split it there. Lines of sqlcmd, which begin with a colon,
// become symbols and words.
func Scan(text string) ([]Token, error) {
	s := scanner{text: text, line: 1}
	for s.blank(); s.at < len(s.text); s.blank() {
		if err := s.token(); err != nil {
			return nil, err
		}
	}
	return s.list, s.fault
}

// directives are the commands of sqlcmd that begin with a colon
// (https://learn.microsoft.com/sql/tools/sqlcmd/sqlcmd-utility, "sqlcmd commands").
var directives = []string{"setvar", "r", "connect", "on", "out", "error", "perftrace", "list", "listvar", "serverlist", "xml", "help", "reset", "ed", "exit", "quit"}

// Directive returns the first line of a script that is a command of sqlcmd, such as :setvar, and
// its number. No server reads these. line is 0 if there is none.
func Directive(text string) (name string, line int) {
	tokens, err := Scan(text)
	if err != nil {
		return "", 0
	}
	for i, t := range tokens {
		if t.Kind != Symbol || t.Text != ":" || i > 0 && tokens[i-1].Line == t.Line || i+1 == len(tokens) || tokens[i+1].Line != t.Line {
			continue
		}
		for _, d := range directives {
			if tokens[i+1].Is(d) {
				return ":" + d, t.Line
			}
		}
	}
	return "", 0
}

// CheckDirective refuses a script with a command of sqlcmd: each target would refuse it.
func CheckDirective(text string) error {
	if name, line := Directive(text); line > 0 {
		return fmt.Errorf("line %d: %s is a command of sqlcmd, which no agent reads: write the text itself, or $(param.NAME) for a value of the run", line, name)
	}
	return nil
}

type scanner struct {
	text  string
	at    int
	line  int
	list  []Token
	fault error
}

// blank skips blanks and comments. Comments between /* and */ nest.
func (s *scanner) blank() {
	for s.at < len(s.text) && s.fault == nil {
		rest := s.text[s.at:]
		r, size := utf8.DecodeRuneInString(rest)
		switch {
		case r == '\n':
			s.line++
			s.at++
		case unicode.IsSpace(r) || r == '\uFEFF':
			s.at += size
		case strings.HasPrefix(rest, "--"):
			if end := strings.IndexByte(rest, '\n'); end >= 0 {
				s.at += end
			} else {
				s.at = len(s.text)
			}
		case strings.HasPrefix(rest, "/*"):
			s.comment()
		default:
			return
		}
	}
}

func (s *scanner) comment() {
	end, closed := EndOfBlockComment(s.text, s.at)
	if !closed {
		s.fault = fmt.Errorf("line %d: the comment has no end", s.line)
	}
	s.line += strings.Count(s.text[s.at:end], "\n")
	s.at = end
}

// token reads a token, which begins here.
func (s *scanner) token() error {
	rest := s.text[s.at:]
	r, size := utf8.DecodeRuneInString(rest)
	line := s.line
	add := func(kind TokenKind, text string, quoted bool) {
		s.list = append(s.list, Token{kind, text, quoted, line})
	}
	switch {
	case (r == 'g' || r == 'G') && s.startsLine() && separator.MatchString(strings.TrimRight(firstLine(rest), "\r")):
		add(Separator, "GO", false)
		s.at += len(firstLine(rest))
		return nil
	case r == '\'' || (r == 'N' || r == 'n') && strings.HasPrefix(rest[1:], "'"):
		if r != '\'' {
			s.at++
		}
		text, err := s.quoted('\'', "string")
		add(String, text, false)
		return err
	case r == '[':
		text, err := s.quoted(']', "name in brackets")
		add(Word, text, true)
		return err
	case r == '"':
		text, err := s.quoted('"', "name in quotes")
		add(Word, text, true)
		return err
	case r == '@' || r == '#' || r == '_' || unicode.IsLetter(r):
		n := len(rest)
		if end := strings.IndexFunc(rest, func(r rune) bool {
			return r != '@' && r != '#' && r != '_' && r != '$' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
		}); end >= 0 {
			n = end
		}
		kind := Word
		if r == '@' {
			kind = Variable
		}
		add(kind, rest[:n], false)
		s.at += n
	case r >= '0' && r <= '9':
		n := len(rest)
		if end := strings.IndexFunc(rest, func(r rune) bool {
			return r != '.' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
		}); end >= 0 {
			n = end
		}
		add(Number, rest[:n], false)
		s.at += n
	default:
		add(Symbol, rest[:size], false)
		s.at += size
	}
	return nil
}

// startsLine reports whether only blanks come before on the line.
func (s *scanner) startsLine() bool {
	i := s.at
	for i > 0 && (s.text[i-1] == ' ' || s.text[i-1] == '\t') {
		i--
	}
	return i == 0 || s.text[i-1] == '\n' || s.text[i-1] == '\r'
}

func firstLine(text string) string {
	if end := strings.IndexByte(text, '\n'); end >= 0 {
		return text[:end]
	}
	return text
}

// quoted reads what begins with one character here and ends with another, which is doubled inside.
func (s *scanner) quoted(closing byte, what string) (string, error) {
	end, closed := EndOfQuoted(s.text, s.at, closing)
	if !closed {
		return "", fmt.Errorf("line %d: the %s has no end", s.line, what)
	}
	inner, one := s.text[s.at+1:end-1], string(closing)
	s.line += strings.Count(inner, "\n")
	s.at = end
	return strings.ReplaceAll(inner, one+one, one), nil
}
