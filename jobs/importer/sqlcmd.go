package importer

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// sqlcmdCall is a call of sqlcmd of which every option is understood
// (https://learn.microsoft.com/sql/tools/sqlcmd/sqlcmd-utility).
type sqlcmdCall struct {
	server, database string
	// query is the text of -Q, and files those of -i.
	query string
	files []string
	// login is the name behind -U; secret means that there is a password.
	login  string
	secret bool
	// quoted is -I: a text in double quotes is a name.
	quoted bool
	// timeout is -t, in seconds; 0 means none.
	timeout  int
	output   bool
	readOnly bool
	severity bool
}

// The options of sqlcmd of which the effect is known. All others are refused, such as -v
// (variables), -q (stays open), -A (dedicated connection) and -z (a new password).
const (
	sqlcmdValued   = "SdQiUPltohswyYamHKVf" // the value is the rest of the word, or the next word
	sqlcmdPlain    = "EIbxeuRWCGMj"
	sqlcmdOptional = "krpNX" // they may have a value of one character, in their own word
)

// readSqlcmd reads the words behind sqlcmd. ok is false if an option is not understood: then it is
// not certain what runs. set returns a variable of the environment.
func readSqlcmd(words []shellWord, set func(string) variable) (call sqlcmdCall, ok bool) {
	server, database, login := set("SQLCMDSERVER"), set("SQLCMDDBNAME"), set("SQLCMDUSER")
	call.secret = set("SQLCMDPASSWORD").set || login.set
	for len(words) > 0 {
		w := words[0]
		words = words[1:]
		if len(w.text) < 2 || w.text[0] != '-' || w.text[1] == '-' {
			return call, false
		}
		option, value := w.text[1], shellWord{w.text[2:], w.variable, w.unknown}
		switch {
		case strings.IndexByte(sqlcmdOptional, option) >= 0:
			if w.unknown || len(value.text) > 1 {
				return call, false
			}
			continue
		case strings.IndexByte(sqlcmdPlain, option) >= 0:
			if w.unknown || value.text != "" {
				return call, false // several options in one word, which is not documented
			}
		case strings.IndexByte(sqlcmdValued, option) < 0:
			return call, false
		case value.text == "" && !value.unknown:
			if len(words) == 0 {
				return call, false
			}
			value, words = words[0], words[1:]
		}
		if !call.set(option, value) {
			return call, false
		}
	}
	for _, v := range []struct {
		variable
		value *string
	}{{server, &call.server}, {database, &call.database}} {
		if *v.value == "" && v.set {
			if !v.known {
				return call, false
			}
			*v.value = v.variable.value
		}
	}
	return call, (call.query == "") != (len(call.files) == 0)
}

// set takes one option. It returns false if its effect is not that of a step.
func (c *sqlcmdCall) set(option byte, value shellWord) bool {
	if option == 'P' {
		c.secret = true // the value is never looked at
		return true
	}
	if value.unknown {
		return false
	}
	switch option {
	case 'S':
		c.server = value.text
	case 'd':
		c.database = value.text
	case 'Q':
		if value.variable || c.query != "" || strings.TrimSpace(value.text) == "" {
			return false // the value of a variable may be a secret
		}
		c.query = value.text
	case 'i':
		for file := range strings.SplitSeq(value.text, ",") {
			if file = strings.TrimSpace(file); file == "" {
				return false
			}
			c.files = append(c.files, file)
		}
	case 'U':
		c.login = value.text
	case 'I':
		c.quoted = true
	case 't':
		n, err := strconv.Atoi(value.text)
		if err != nil || n < 0 || n > 65534 {
			return false
		}
		c.timeout = n
	case 'o':
		c.output = true
	case 'V':
		c.severity = true
	case 'K':
		c.readOnly = strings.EqualFold(value.text, "ReadOnly")
		return c.readOnly || strings.EqualFold(value.text, "ReadWrite")
	} // the others change what is printed, or the settings of the connection
	return true
}

// sqlcmdCommand matches a line that is a command of sqlcmd itself.
var sqlcmdCommand = regexp.MustCompile(`(?im)^[ \t]*(?::|!!|(?:reset|ed|exit|quit)\b)`)

// isTSQL reports whether sqlcmd sends a text as it is, and a step does too.
func isTSQL(text string) bool {
	return !sqlcmdCommand.MatchString(text) && !strings.Contains(text, "$(")
}

// sqlcmdServer reads a server of -S: [protocol:]server[\instance][,port]. ok is false for a
// protocol other than TCP, with which no agent connects. local means the machine on which sqlcmd
// runs.
func sqlcmdServer(text string) (server string, local, ok bool) {
	if protocol, rest, found := strings.Cut(text, ":"); found {
		if !strings.EqualFold(protocol, "tcp") {
			return "", false, false
		}
		text = rest
	}
	host := text
	if end := strings.IndexAny(text, `\,`); end >= 0 {
		host = text[:end]
	}
	local = slices.Contains([]string{"", ".", "(local)", "localhost", "127.0.0.1", "::1"}, strings.ToLower(strings.TrimSpace(host)))
	return strings.TrimSpace(text), local, true
}

// program tells what kind of program a path is.
func program(file string) string {
	name := strings.ToLower(path.Base(strings.ReplaceAll(file, `\`, "/")))
	return strings.TrimSuffix(name, ".exe")
}
