package process

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/jobagent/jobagent/targets/outbound"
)

// masked replaces a secret.
const masked = "***"

// masker replaces secrets in a stream, also where a secret is split over two writes. It replaces
// the same forms of a secret as an [outbound.Mask]. The zero value replaces nothing.
type masker struct {
	secrets [][]byte // folded by outbound.FoldCase; longest first
	held    []byte   // the end of the stream so far, which may be the beginning of a secret
}

func newMasker(secrets []string) *masker {
	m := &masker{}
	forms := map[string]bool{}
	for _, secret := range secrets {
		for _, form := range outbound.SecretForms(secret) {
			if !forms[form] {
				forms[form] = true
				m.secrets = append(m.secrets, []byte(form))
			}
		}
	}
	slices.SortFunc(m.secrets, func(a, b []byte) int { return cmp.Or(len(b)-len(a), bytes.Compare(a, b)) })
	return m
}

// feed returns what can be passed on after the next part of the stream. The result is valid until
// the next call.
func (m *masker) feed(p []byte) []byte {
	if len(m.secrets) == 0 {
		return p
	}
	text := slices.Concat(m.held, p)
	out, rest := m.replace(text, true)
	keep := m.suffix(outbound.FoldCase(rest))
	m.held = bytes.Clone(rest[len(rest)-keep:])
	return append(out, rest[:len(rest)-keep]...)
}

// flush returns the rest of the stream. cut means that the stream went on, so that the rest may be
// the beginning of a secret.
func (m *masker) flush(cut bool) []byte {
	held := m.held
	m.held = nil
	if cut && len(held) > 0 {
		return []byte(masked)
	}
	out, rest := m.replace(held, false)
	return append(out, rest...)
}

// replace replaces the secrets of text from left to right, the longest one of those at the same
// place. It returns the text up to the last secret, and the rest. If more follows, it stops before
// a secret that may be the beginning of a longer one.
func (m *masker) replace(text []byte, more bool) (out, rest []byte) {
	folded := outbound.FoldCase(text)
	next := make([]int, len(m.secrets)) // the next position of each secret
	for i, secret := range m.secrets {
		next[i] = index(folded, secret, 0)
	}
	for at := 0; ; {
		first := -1
		for i, secret := range m.secrets {
			if next[i] < at {
				next[i] = index(folded, secret, at)
			}
			if next[i] < len(text) && (first < 0 || next[i] < next[first]) {
				first = i
			}
		}
		if first < 0 || more && m.mayGrow(folded[next[first]:], len(m.secrets[first])) {
			return out, text[at:]
		}
		out = append(append(out, text[at:next[first]]...), masked...)
		at = next[first] + len(m.secrets[first])
	}
}

// index returns the next position of the secret at or after from, or the length of text if there is
// none.
func index(text, secret []byte, from int) int {
	if i := bytes.Index(text[from:], secret); i >= 0 {
		return from + i
	}
	return len(text)
}

// mayGrow reports whether a folded text may be the beginning of a secret that is longer than size.
func (m *masker) mayGrow(text []byte, size int) bool {
	for _, one := range m.secrets {
		if len(one) > size && len(one) > len(text) && bytes.HasPrefix(one, text) {
			return true
		}
	}
	return false
}

// suffix returns the length of the longest end of a folded text that is the beginning of a secret.
func (m *masker) suffix(text []byte) int {
	for n := min(len(text), len(m.secrets[0])); n > 0; n-- {
		if m.mayGrow(text[len(text)-n:], 0) {
			return n
		}
	}
	return 0
}
