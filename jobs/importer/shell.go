package importer

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// shellWord is a word of a command line.
type shellWord struct {
	text string
	// variable means that the text has values of variables; unknown, that one of them is not
	// known.
	variable, unknown bool
}

// is reports whether the word is a plain text.
func (w shellWord) is(text string) bool { return !w.variable && !w.unknown && w.text == text }

// shellCommand is a simple command: no pipe, list or substitution.
type shellCommand struct {
	words []shellWord
	// variables are those that are set before the command.
	variables map[string]variable
	// output means that its output goes to a file.
	output bool
	// folder is the folder of a cd before the command.
	folder string
	// wrappers before the command: a lock without waiting (flock -n), and the seconds of timeout.
	lock    bool
	seconds int
}

// shellSpecial are the characters that a shell acts on outside of quotes, apart from blanks,
// quotes, backslashes and $.
const shellSpecial = "|&;()<>`*?[]{}~!#\n"

// shellAssignment matches a variable that is set before a command.
var shellAssignment = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)=(.*)$`)

// readShell reads a command line of the POSIX shell (Shell Command Language, 2.2 to 2.9). ok is
// false if it is more than one simple command, perhaps after cd FOLDER &&, with output
// redirected: then what runs is not certain. variable returns the value of a variable if it is
// known.
func readShell(text string, value func(string) (string, bool)) (c shellCommand, ok bool) {
	s := shellReader{text: text, value: value}
	c.words, ok = s.command()
	if ok && strings.HasPrefix(s.text, "&&") && len(c.words) == 2 && c.words[0].is("cd") && !c.words[1].unknown {
		c.folder = c.words[1].text
		s.text = s.text[2:]
		c.words, ok = s.command()
	}
	if !ok || s.text != "" {
		return c, false
	}
	c.output = s.output
	c.variables = map[string]variable{}
	for len(c.words) > 0 {
		m := shellAssignment.FindStringSubmatch(c.words[0].text)
		if m == nil {
			break
		}
		c.variables[m[1]] = variable{value: m[2], set: true, known: !c.words[0].unknown}
		c.words = c.words[1:]
	}
	return c, c.unwrap() && len(c.words) > 0
}

// shellReader reads words. text is what is left to read.
type shellReader struct {
	text   string
	value  func(string) (string, bool) // of a variable that is known
	output bool
}

// command reads the words of one simple command. It stops at the end or at &&.
func (s *shellReader) command() (words []shellWord, ok bool) {
	for {
		s.text = strings.TrimLeft(s.text, " \t")
		switch {
		case s.text == "" || s.text[0] == '#':
			s.text = ""
			return words, true
		case strings.HasPrefix(s.text, "&&"):
			return words, true
		case redirection.MatchString(s.text):
			found := redirection.FindString(s.text)
			s.text = strings.TrimLeft(s.text[len(found):], " \t")
			if strings.HasSuffix(found, "&1") || strings.HasSuffix(found, "&2") {
				continue
			}
			file, ok := s.word()
			if !ok {
				return nil, false
			}
			s.output = s.output || !file.is("/dev/null")
		default:
			w, ok := s.word()
			if !ok {
				return nil, false
			}
			words = append(words, w)
		}
	}
}

// redirection matches the beginning of a redirection of output.
var redirection = regexp.MustCompile(`^(?:[12]?>&[12]|[12]?>>?\|?|&>>?)`)

// word reads one word; ok is false if it is empty without quotes, or if a shell expands it to
// something that is not known here.
func (s *shellReader) word() (w shellWord, ok bool) {
	var b strings.Builder
	quoted := false
	for s.text != "" {
		switch ch := s.text[0]; {
		case ch == ' ' || ch == '\t':
			w.text = b.String()
			return w, quoted || w.text != "" || w.variable
		case ch == '\'':
			end := strings.IndexByte(s.text[1:], '\'')
			if end < 0 {
				return w, false
			}
			b.WriteString(s.text[1 : end+1])
			s.text, quoted = s.text[end+2:], true
		case ch == '"':
			s.text, quoted = s.text[1:], true
			if !s.doubleQuoted(&b, &w) {
				return w, false
			}
		case ch == '\\':
			if len(s.text) < 2 || s.text[1] == '\n' {
				return w, false
			}
			b.WriteByte(s.text[1])
			s.text = s.text[2:]
		case ch == '$':
			if !s.expand(&b, &w, false) {
				return w, false
			}
		case ch == '#' && b.Len() > 0:
			b.WriteByte(ch)
			s.text = s.text[1:]
		case strings.IndexByte(shellSpecial, ch) >= 0:
			w.text = b.String()
			if ch == '>' && !quoted && durationWord.MatchString(w.text) {
				return w, false // the number of a file
			}
			return w, (quoted || w.text != "" || w.variable) && (strings.HasPrefix(s.text, "&&") || ch == '>')
		default:
			b.WriteByte(ch)
			s.text = s.text[1:]
		}
	}
	w.text = b.String()
	return w, quoted || w.text != "" || w.variable
}

// doubleQuoted reads up to the closing quote.
func (s *shellReader) doubleQuoted(b *strings.Builder, w *shellWord) bool {
	for s.text != "" {
		switch ch := s.text[0]; {
		case ch == '"':
			s.text = s.text[1:]
			return true
		case ch == '`', ch == '\n':
			return false
		case ch == '$':
			if !s.expand(b, w, true) {
				return false
			}
		case ch == '\\' && len(s.text) > 1 && strings.IndexByte("$`\"\\", s.text[1]) >= 0:
			b.WriteByte(s.text[1])
			s.text = s.text[2:]
		default:
			b.WriteByte(ch)
			s.text = s.text[1:]
		}
	}
	return false
}

// shellVariable matches $NAME and ${NAME}.
var shellVariable = regexp.MustCompile(`^\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})`)

// expand reads a variable. Outside of quotes, a shell splits the value into words at blanks.
func (s *shellReader) expand(b *strings.Builder, w *shellWord, quoted bool) bool {
	m := shellVariable.FindStringSubmatch(s.text)
	if m == nil {
		return false
	}
	s.text = s.text[len(m[0]):]
	w.variable = true
	value, known := s.value(m[1] + m[2])
	if !known || !quoted && (value == "" || strings.ContainsAny(value, " \t\n*?[")) {
		w.unknown = true
		return true
	}
	b.WriteString(value)
	return true
}

// unwrap removes commands that run another one without changing what it does: nice, ionice, exec,
// chronic, env, timeout, and flock with one file.
func (c *shellCommand) unwrap() bool {
	for len(c.words) > 0 && !c.words[0].unknown {
		switch path.Base(c.words[0].text) {
		case "exec", "chronic", "env", "nice", "ionice":
			c.words = c.words[1:]
			c.options("-n", "-c", "-N")
		case "timeout":
			c.words = c.words[1:]
			c.options("-k", "-s", "-S")
			if len(c.words) == 0 {
				return false
			}
			var known bool
			if c.seconds, known = timeoutSeconds(c.words[0].text); !known {
				return false
			}
			c.words = c.words[1:]
		case "flock":
			if len(c.words) < 4 || !c.words[1].is("-n") && !c.words[1].is("--nonblock") || strings.HasPrefix(c.words[2].text, "-") || strings.HasPrefix(c.words[3].text, "-") {
				return false
			}
			c.lock = true
			c.words = c.words[3:]
		default:
			return true
		}
	}
	return false
}

// options removes options from the beginning of the words. Those that are named have a value.
func (c *shellCommand) options(valued ...string) {
	for len(c.words) > 0 && strings.HasPrefix(c.words[0].text, "-") {
		with := slices.Contains(valued, c.words[0].text)
		c.words = c.words[1:]
		if with && len(c.words) > 0 {
			c.words = c.words[1:]
		}
	}
}

// timeoutSeconds reads a duration of timeout(1): a whole number and s, m, h or d.
func timeoutSeconds(text string) (seconds int, ok bool) {
	unit := 1
	if text != "" {
		if u, found := map[byte]int{'s': 1, 'm': 60, 'h': 3600, 'd': daySeconds}[text[len(text)-1]]; found {
			unit, text = u, text[:len(text)-1]
		}
	}
	n, err := strconv.Atoi(text)
	return n * unit, err == nil && n > 0 && n <= maxTimeout/unit
}

// programName matches the names of programs that the report shows. Anything else may be a secret.
var programName = regexp.MustCompile(`^[A-Za-z0-9_./+@-]{1,100}$`)

// durationWord matches a duration of timeout(1), and the numbers of nice and others.
var durationWord = regexp.MustCompile(`^\d+(?:\.\d+)?[smhd]?$`)

// programOf returns the path of the program or script of a command line, to name it in the report;
// empty if there is no plain one. The line may be more than a simple command.
func programOf(text string) string {
	words := strings.Fields(text)
	// skip removes words from the beginning while a condition holds.
	skip := func(while func(string) bool) {
		for len(words) > 0 && while(words[0]) {
			words = words[1:]
		}
	}
	isOption := func(w string) bool { return strings.HasPrefix(w, "-") || durationWord.MatchString(w) }
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		if name, _, assigned := strings.Cut(word, "="); assigned && userName.MatchString(name) {
			continue // a variable, which may be a secret
		}
		switch path.Base(word) {
		case "exec", "chronic", "env", "nice", "ionice", "timeout", "command":
			skip(isOption)
		case "flock":
			skip(isOption)
			words = words[min(1, len(words)):]
		case "cd":
			words = words[min(2, len(words)):]
		case "test", "[":
			skip(func(w string) bool { return w != "&&" && w != "||" && w != "then" })
		case "&&", "||", "then", "if", "!", "{", "(":
		case "sh", "bash", "python", "python3", "perl", "php", "node", "ruby":
			if len(words) > 0 && plainProgram(words[0]) != "" && strings.ContainsAny(words[0], "./") && !strings.HasPrefix(words[0], "-") {
				return words[0]
			}
			return plainProgram(word)
		default:
			return plainProgram(strings.TrimSuffix(word, ";"))
		}
	}
	return ""
}

// plainProgram returns a word if it can only be the name of a program.
func plainProgram(word string) string {
	if programName.MatchString(word) && !strings.HasPrefix(word, "-") {
		return word
	}
	return ""
}
