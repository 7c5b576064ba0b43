package outbound

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"unicode/utf16"
)

// masked replaces a secret.
const masked = "***"

// Mask removes known secrets from texts, in the forms of [SecretForms]. The zero value
// knows none. Safe for concurrent use.
type Mask struct {
	mu      sync.Mutex
	known   map[string]bool
	forms   []string // as SecretForms returns them, of all secrets
	longest int
}

// NewMask returns a Mask that knows the secrets.
func NewMask(secrets ...string) *Mask {
	m := new(Mask)
	m.Add(secrets...)
	return m
}

// Add adds secrets. Empty texts are ignored.
func (m *Mask) Add(secrets ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, secret := range secrets {
		if secret == "" || m.known[secret] {
			continue
		}
		if m.known == nil {
			m.known = make(map[string]bool)
		}
		m.known[secret] = true
		forms := append(slices.Clone(m.forms), SecretForms(secret)...) // String reads the old slice
		slices.SortFunc(forms, longestFirst)
		m.forms = slices.Compact(forms)
		m.longest = len(m.forms[0])
	}
}

// longestFirst orders forms. At one position, the longest form counts.
func longestFirst(a, b string) int {
	return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b))
}

// minEncodedSecret is the length from which encoded forms are masked: those of shorter secrets
// occur by chance.
const minEncodedSecret = 4

// FoldCase returns text with the letters A to Z in lower case. Other bytes stay as they are.
func FoldCase[T string | []byte](text T) T {
	b := append([]byte(nil), text...) // text stays as it is
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + ('a' - 'A')
		}
	}
	return T(b)
}

// SecretForms returns the forms in which a secret may occur in a text, those that a Mask replaces,
// the longest first: in clear, escaped for URLs, HTML, XML and JSON, and as base64 and hexadecimal
// digits. The forms are folded ([FoldCase]) and must be compared with a folded text, so that the
// case of letters and of hexadecimal digits does not matter.
func SecretForms(secret string) []string {
	if secret == "" {
		return nil
	}
	forms := []string{secret}
	if len(secret) >= minEncodedSecret {
		forms = append(forms, strings.ToLower(secret), strings.ToUpper(secret))
		for _, one := range []string{secret, strings.ToLower(secret), strings.ToUpper(secret)} {
			forms = append(forms, url.QueryEscape(one), url.PathEscape(one), everyByteEscaped(one))
			forms = append(forms, jsonForms(one)...)
			forms = append(forms, markupForms(one)...)
			forms = append(forms, hex.EncodeToString([]byte(one)))
			forms = append(forms, base64Forms(one)...)
		}
	}
	for i, form := range forms {
		forms[i] = FoldCase(form)
	}
	slices.SortFunc(forms, longestFirst)
	return slices.Compact(forms)
}

// jsonForms returns the secret within JSON strings: encoders differ in what they escape.
func jsonForms(secret string) []string {
	plain := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`, "\b", `\b`, "\f", `\f`).Replace(secret)
	forms := []string{plain, strings.ReplaceAll(plain, "/", `\/`)}
	if quoted, err := json.Marshal(secret); err == nil {
		forms = append(forms, string(quoted[1:len(quoted)-1]))
	}
	return append(forms, unicodeEscaped(plain, ""), unicodeEscaped(plain, "<>&"), unicodeEscaped(plain, `<>&'+`),
		strings.ReplaceAll(unicodeEscaped(plain, ""), "/", `\/`))
}

// unicodeEscaped writes characters beyond ASCII, and those of also, as \uXXXX.
func unicodeEscaped(text, also string) string {
	var b strings.Builder
	for _, r := range text {
		if r < 0x80 && !strings.ContainsRune(also, r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

// markupForms returns the secret within HTML and XML. Each encoder has its own entities for quotes.
func markupForms(secret string) []string {
	var forms []string
	for _, quotes := range [][2]string{
		{"&#34;", "&#39;"}, {"&quot;", "&#39;"}, {"&quot;", "&#039;"}, {"&quot;", "&#x27;"}, {"&quot;", "&apos;"},
		{"&#x22;", "&#x27;"}, {`"`, "'"}, {"&quot;", "'"},
	} {
		text := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, quotes[0], "'", quotes[1]).Replace(secret)
		decimal, hexadecimal := new(strings.Builder), new(strings.Builder)
		for _, r := range text {
			if r < 0x80 {
				decimal.WriteRune(r)
				hexadecimal.WriteRune(r)
			} else {
				fmt.Fprintf(decimal, "&#%d;", r)
				fmt.Fprintf(hexadecimal, "&#x%x;", r)
			}
		}
		forms = append(forms, text, strings.ReplaceAll(text, "/", "&#x2f;"), strings.ReplaceAll(text, "+", "&#43;"),
			decimal.String(), hexadecimal.String())
	}
	return forms
}

// base64Forms returns the secret as base64, alone and within a longer text.
func base64Forms(secret string) []string {
	var forms []string
	// Inside a longer text, the base64 form depends on the number of bytes before the secret. The
	// digits at both ends hold bits of the neighbors as well and are left out.
	for before := range 3 {
		text := strings.Repeat("\x00", before) + secret
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			digits := encoding.EncodeToString([]byte(text))
			first := (before*8 + 5) / 6
			last := len(text) * 8 / 6
			if last-first >= minEncodedSecret {
				forms = append(forms, digits[first:last])
			}
		}
	}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		forms = append(forms, encoding.EncodeToString([]byte(secret)))
	}
	return forms
}

// everyByteEscaped escapes each byte that is not a letter or digit.
func everyByteEscaped(text string) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte("0123456789ABCDEF"[c>>4])
			b.WriteByte("0123456789ABCDEF"[c&15])
		}
	}
	return b.String()
}

// String returns text with *** in place of each secret.
func (m *Mask) String(text string) string {
	if m == nil || text == "" {
		return text
	}
	m.mu.Lock()
	forms := m.forms
	m.mu.Unlock()
	if len(forms) == 0 {
		return text
	}
	folded := FoldCase(text)
	var b strings.Builder
	next := make([]int, len(forms)) // where each form comes next; len(text) if it does not
	for i := range next {
		next[i] = -1
	}
	for at := 0; ; {
		first := -1
		for i, form := range forms {
			if next[i] < at {
				if n := strings.Index(folded[at:], form); n >= 0 {
					next[i] = at + n
				} else {
					next[i] = len(text)
				}
			}
			if next[i] < len(text) && (first < 0 || next[i] < next[first]) {
				first = i
			}
		}
		if first < 0 {
			if at == 0 {
				return text
			}
			b.WriteString(text[at:])
			return b.String()
		}
		b.WriteString(text[at:next[first]])
		b.WriteString(masked)
		at = next[first] + len(forms[first])
	}
}

// Contains reports whether text holds a secret.
func (m *Mask) Contains(text string) bool {
	return m.String(text) != text
}

// Longest returns the length in bytes of the longest form of a secret. A text that is cut must be
// read that much further and masked before the cut, or a part of a secret remains at its end.
func (m *Mask) Longest() int {
	if m == nil {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.longest
}

// Err returns err with a masked text; errors.Is and errors.As see through it.
func (m *Mask) Err(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if clean := m.String(text); clean != text {
		return &maskedError{text: clean, err: err}
	}
	return err
}

// maskedError is an error whose text held a secret.
type maskedError struct {
	text string
	err  error
}

// Error implements error.
func (e *maskedError) Error() string { return e.text }

// Is and As look at the error without exposing it: an error that unwraps to it could be printed.
func (e *maskedError) Is(target error) bool { return errors.Is(e.err, target) }

// As implements the interface of errors.As.
func (e *maskedError) As(target any) bool { return errors.As(e.err, target) }
