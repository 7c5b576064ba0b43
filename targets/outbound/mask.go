package outbound

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// masked replaces a secret.
const masked = "***"

// Mask removes known secrets from texts: in clear, and as base64, URL-escaped or JSON-escaped text.
// The zero value knows none. Safe for concurrent use.
type Mask struct {
	mu       sync.Mutex
	forms    map[string]bool
	longest  int
	replacer *strings.Replacer // nil when forms has changed
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
		if secret == "" || m.forms[secret] {
			continue
		}
		if m.forms == nil {
			m.forms = make(map[string]bool)
		}
		for _, form := range SecretForms(secret) {
			m.forms[form] = true
			m.longest = max(m.longest, len(form))
		}
		m.replacer = nil
	}
}

// minEncodedSecret is the length from which encoded forms are masked: those of shorter secrets
// occur by chance.
const minEncodedSecret = 4

// SecretForms returns the forms in which a secret may occur in a text: those that a Mask replaces.
func SecretForms(secret string) []string {
	forms := []string{secret}
	if len(secret) < minEncodedSecret {
		return forms
	}
	query, path := url.QueryEscape(secret), url.PathEscape(secret)
	forms = append(forms, query, path, lowerEscapes(query), lowerEscapes(path), everyByteEscaped(secret))
	quoted, err := json.Marshal(secret)
	if err == nil {
		forms = append(forms, string(quoted[1:len(quoted)-1]))
	}
	forms = append(forms, strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(secret))
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

// lowerEscapes writes the hexadecimal digits of an escaped text in lower case.
func lowerEscapes(text string) string {
	b := []byte(text)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], strings.ToLower(string(b[i+1:i+3])))
		}
	}
	return string(b)
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
	if len(m.forms) == 0 {
		m.mu.Unlock()
		return text
	}
	if m.replacer == nil {
		forms := make([]string, 0, len(m.forms))
		for form := range m.forms {
			forms = append(forms, form)
		}
		// At one position, the longest form counts.
		slices.SortFunc(forms, func(a, b string) int {
			return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b))
		})
		pairs := make([]string, 0, 2*len(forms))
		for _, form := range forms {
			pairs = append(pairs, form, masked)
		}
		m.replacer = strings.NewReplacer(pairs...)
	}
	r := m.replacer
	m.mu.Unlock()
	return r.Replace(text)
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
