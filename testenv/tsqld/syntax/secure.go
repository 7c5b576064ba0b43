package syntax

import "strings"

// mask stands for a secret.
const mask = "'***'"

// maxSecureDepth is how many levels of strings in strings SecureText looks into.
const maxSecureDepth = 4

// SecureText is src with the secrets masked: what stands behind PASSWORD =, OLD_PASSWORD = and SECRET =, and the arguments
// and initial values of variables that are named like a password or secret, in dynamic SQL, too. Of a text with an
// unclosed quotation mark or comment the rest is masked as a whole. For logs and errors; the result needs not parse.
func SecureText(src string) string { return secure(src, 0) }

// secure is SecureText for a text inside of depth strings.
func secure(src string, depth int) string {
	s := &scanner{src: src, quoted: true, line: 1}
	var b strings.Builder
	copied := 0 // src up to here is in b
	replace := func(from, to int, by string) {
		b.WriteString(src[copied:from])
		b.WriteString(by)
		copied = to
	}
	var before [2]token // the two tokens before the current one
	armed := false      // a variable named like a secret awaits its value
	for {
		if s.skip() != nil {
			replace(s.off, len(src), mask)
			break
		}
		if s.off >= len(src) {
			b.WriteString(src[copied:])
			break
		}
		t := token{at: s.pos()}
		start := s.off
		if s.next(&t) != nil {
			replace(start, len(src), mask)
			break
		}
		value := t.kind == tokString || t.kind == tokNString || t.kind == tokBinary || t.kind == tokQuoted
		switch {
		case value && before[1].is("=") && (secretWords[before[0].up] || armed):
			replace(start, s.off, mask)
			armed = false
		case (t.kind == tokString || t.kind == tokNString || t.kind == tokQuoted) && depth < maxSecureDepth && mentions(t.text):
			if inner := secure(t.text, depth+1); inner != t.text {
				prefix := ""
				if t.kind == tokNString {
					prefix = "N"
				}
				replace(start, s.off, prefix+quoteString(inner))
			}
		case t.kind == tokVar:
			armed = mentions(t.text)
		case t.is(",") || t.is(";"):
			armed = false
		}
		before[0], before[1] = before[1], t
	}
	return b.String()
}

// secretWords are the options whose values are secrets.
var secretWords = wordSet("PASSWORD OLD_PASSWORD SECRET")

// mentions reports whether text names a secret.
func mentions(text string) bool {
	u := upper(text)
	return strings.Contains(u, "PASSWORD") || strings.Contains(u, "SECRET") || strings.Contains(u, "PWD")
}
