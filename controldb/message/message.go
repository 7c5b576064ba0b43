// Package message reads the texts of errors that the procedures throw. The texts are sentences for
// people who use T-SQL. A door with other words for the same things, such as the command line,
// words the parts that T-SQL has named, and leaves the rest.
//
// The grammar of a text; what fits nothing else is text:
//
//	message   = { value | run | parameter | procedure | view | missing | text }
//	value     = [ "N" ] "'" { any } "'"  |  '"' { any } '"'
//	run       = a GUID in upper case
//	parameter = "@" name [ " = " ( "0" | "1" ) ]
//	procedure = "jobs.sp_" name [ " " parameter ]
//	view      = "jobs." name  |  ( "The" | "the" ) " view jobs." name ( " lists" | " shows" )
//	missing   = "is NULL"
//
// Each part but text begins and ends where a word does. A value is data: nothing in it is a part.
// Quotes inside of it are not doubled, so it ends with the first quote that no letter or digit
// follows. A name with such a quote in it ends too early, and its rest is read as text.
package message

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind says what a part of a message is.
type Kind int

// The kinds of parts.
const (
	Text      Kind = iota // words
	Value                 // data in quotes
	Run                   // the ID of a run
	Parameter             // a parameter, perhaps with the value 0 or 1
	Procedure             // a public procedure
	View                  // a public view
	Missing               // "is NULL"
)

// Part is a part of a message.
type Part struct {
	Kind Kind
	// Text is the part as the message has it.
	Text string
	// Name is that of a procedure or view with its schema, or of a parameter without its @.
	Name string
	// Of is the procedure of a parameter; empty: the one that was called.
	Of string
	// Value is the value of a parameter, 0 or 1, if the message has one.
	Value string
	// Lists says that the view is the subject of a sentence, whose verb belongs to the part: The
	// view jobs.jobs lists.
	Lists bool
}

// Message is the text of an error in parts.
type Message []Part

// String returns the text.
func (m Message) String() string { return m.Words(func(p Part) string { return p.Text }) }

// Words returns the text of a door, which words each part.
func (m Message) Words(word func(Part) string) string {
	var b strings.Builder
	for _, p := range m {
		b.WriteString(word(p))
	}
	return b.String()
}

// Plain words a part without the notation of T-SQL, for a door that has no own name for it. The
// names of procedures and views stay.
func (p Part) Plain() string {
	switch p.Kind {
	case Value:
		return strings.TrimPrefix(p.Text, "N")
	case Run:
		return strings.ToLower(p.Text)
	case Parameter:
		return strings.ReplaceAll(p.Name, "_", " ") + strings.TrimPrefix(p.Text, "@"+p.Name)
	case Missing:
		return "is missing"
	case Text, Procedure, View:
	}
	return p.Text
}

// Parse reads the text of an error.
func Parse(text string) Message {
	s := scanner{text: text}
	for s.at < len(text) {
		p, ok := s.part()
		if !ok {
			_, size := utf8.DecodeRuneInString(text[s.at:])
			s.at += size
			continue
		}
		s.flush()
		s.at += len(p.Text)
		s.begin = s.at
		s.parts = append(s.parts, p)
	}
	s.flush()
	return s.parts
}

// scanner reads a text from left to right.
type scanner struct {
	text      string
	begin, at int // of the text that no part has yet, and where the next part may begin
	parts     Message
}

// flush makes a part of the words before the next part.
func (s *scanner) flush() {
	if s.begin < s.at {
		s.parts = append(s.parts, Part{Kind: Text, Text: s.text[s.begin:s.at]})
		s.begin = s.at
	}
}

// part returns the part that begins here; false if none does.
func (s *scanner) part() (Part, bool) {
	before, _ := utf8.DecodeLastRuneInString(s.text[:s.at])
	if isWord(before) || strings.ContainsRune("@$.-", before) {
		return Part{}, false
	}
	for _, read := range []func(string) (Part, bool){value, run, s.parameter, procedure, view, missing} {
		if p, ok := read(s.text[s.at:]); ok {
			return p, true
		}
	}
	return Part{}, false
}

// value reads data in quotes.
func value(text string) (Part, bool) {
	quoted := strings.TrimPrefix(text, "N")
	switch {
	case strings.HasPrefix(quoted, "'"):
		for at := 1; at < len(quoted); at++ {
			if quoted[at] == '\'' && !startsWord(quoted[at+1:]) {
				return Part{Kind: Value, Text: text[:len(text)-len(quoted)+at+1]}, true
			}
		}
	case strings.HasPrefix(text, `"`):
		if end := strings.IndexByte(text[1:], '"'); end >= 0 {
			return Part{Kind: Value, Text: text[:end+2]}, true
		}
	}
	return Part{}, false
}

// run reads the ID of a run, as T-SQL writes it.
func run(text string) (Part, bool) {
	const form = "00000000-0000-0000-0000-000000000000"
	if len(text) < len(form) || startsWord(text[len(form):]) || strings.HasPrefix(text[len(form):], "-") {
		return Part{}, false
	}
	for i := range len(form) {
		if c := text[i]; (form[i] == '-') != (c == '-') || form[i] == '0' && !strings.ContainsRune("0123456789ABCDEF", rune(c)) {
			return Part{}, false
		}
	}
	return Part{Kind: Run, Text: text[:len(form)]}, true
}

// parameter reads a parameter, and its value if it is 0 or 1.
func (s *scanner) parameter(text string) (Part, bool) {
	name, ok := strings.CutPrefix(text, "@")
	name = firstWord(name)
	if !ok || name == "" || name[0] < 'a' || name[0] > 'z' {
		return Part{}, false
	}
	p := Part{Kind: Parameter, Text: "@" + name, Name: name, Of: s.procedure()}
	if assigned, ok := strings.CutPrefix(text[len(p.Text):], " = "); ok {
		if v := firstWord(assigned); v == "0" || v == "1" {
			p.Text, p.Value = p.Text+" = "+v, v
		}
	}
	return p, true
}

// procedure returns the procedure whose parameter follows here; empty if none does.
func (s *scanner) procedure() string {
	if n := len(s.parts); n > 0 && s.parts[n-1].Kind == Procedure && s.text[s.begin:s.at] == " " {
		return s.parts[n-1].Name
	}
	return ""
}

// procedure reads the name of a public procedure.
func procedure(text string) (Part, bool) {
	name := object(text)
	return Part{Kind: Procedure, Text: name, Name: name}, strings.HasPrefix(name, "jobs.sp_")
}

// view reads the name of a public view, with the words of the sentence whose subject it is.
func view(text string) (Part, bool) {
	p := Part{Kind: View}
	rest := text
	for _, words := range []string{"The view ", "the view "} {
		if after, ok := strings.CutPrefix(text, words); ok {
			rest, p.Lists = after, true
		}
	}
	if p.Name = object(rest); p.Name == "" {
		return Part{}, false
	}
	end := len(text) - len(rest) + len(p.Name)
	if p.Lists {
		after, apart := strings.CutPrefix(text[end:], " ")
		verb := firstWord(after)
		if !apart || verb != "lists" && verb != "shows" {
			return Part{}, false
		}
		end += len(" ") + len(verb)
	}
	p.Text = text[:end]
	return p, true
}

// missing reads the words about a parameter without a value.
func missing(text string) (Part, bool) {
	const words = "is NULL"
	return Part{Kind: Missing, Text: words}, strings.HasPrefix(text, words) && !startsWord(text[len(words):])
}

// object returns the name of an object of the schema jobs at the begin of a text.
func object(text string) string {
	name, ok := strings.CutPrefix(text, "jobs.")
	if name = firstWord(name); !ok || name == "" {
		return ""
	}
	return "jobs." + name
}

// firstWord returns the letters and digits at the begin of a text.
func firstWord(text string) string {
	return text[:len(text)-len(strings.TrimLeftFunc(text, isWord))]
}

// startsWord says that a text begins within a word.
func startsWord(text string) bool { return firstWord(text) != "" }

// isWord says that a character belongs to a word.
func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
