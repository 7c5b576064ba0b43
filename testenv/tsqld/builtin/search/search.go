package search

import (
	"unicode/utf8"

	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Sequence is what a search looks for: each element stands for one character.
type Sequence interface {
	// Len returns the number of elements.
	Len() int
	// Accepts reports whether element i stands for r.
	Accepts(i int, r rune) bool
}

// Text is a text as a [Sequence]: characters are compared in the collation.
type Text struct {
	Runes     []rune
	Collation types.Collation
}

// Len implements [Sequence].
func (t Text) Len() int { return len(t.Runes) }

// Accepts implements [Sequence].
func (t Text) Accepts(i int, r rune) bool { return types.SameRune(r, t.Runes[i], t.Collation) }

const (
	// CompareWork is the cost of comparing two characters, in steps of [meter.Meter.Work].
	CompareWork = 16
	// comparisonLimit is how many comparisons per byte of text First makes before it switches to
	// firstAtOnce.
	comparisonLimit = 8
	// maxMasks is how many characters' masks are kept.
	maxMasks = 1024
)

// First returns the byte offsets of the start and end of the first match of q in s, -1 for none. m
// is the account of the session and may be nil. The only error is that of a canceled request.
//
// First compares position by position, which is fast while most positions differ in the first
// characters. Otherwise First switches to firstAtOnce: comparing 'aaa…b' with 'aaa…' position by
// position would take the product of both lengths.
func First(m *meter.Meter, q Sequence, s string) (start, end int, err error) {
	n := q.Len()
	spent := 0
	for start = range s {
		end, i := start, 0
		for ; i < n && end < len(s); i++ {
			r, size := utf8.DecodeRuneInString(s[end:])
			if !q.Accepts(i, r) {
				break
			}
			end += size
		}
		switch {
		case i == n:
			return start, end, nil
		case end == len(s):
			return -1, -1, nil // the rest is too short
		}
		spent += i + 1
		if err := m.Work((i + 1) * CompareWork); err != nil {
			return 0, 0, err
		}
		if spent > 1024 && spent > comparisonLimit*(start+1) {
			at, end, err := firstAtOnce(m, q, s[start:])
			if at < 0 || err != nil {
				return -1, -1, err
			}
			return start + at, start + end, nil
		}
	}
	if n == 0 {
		return 0, 0, nil // an empty text
	}
	return -1, -1, nil
}

// firstAtOnce is First by the algorithm of Baeza-Yates and Gonnet ("shift-and"). Bit i of the state
// is set if the last i+1 characters match the first i+1 elements.
func firstAtOnce(m *meter.Meter, q Sequence, s string) (start, end int, err error) {
	n := q.Len()
	words := (n + 63) / 64
	state := make([]uint64, words)
	masks := map[rune][]uint64{}
	var last []uint64 // the mask of lastRune
	lastRune := rune(-1)
	for at, r := range s {
		if r != lastRune {
			mask := masks[r]
			if mask == nil {
				if len(masks) >= maxMasks {
					clear(masks)
				}
				mask = make([]uint64, words)
				for i := range n {
					if q.Accepts(i, r) {
						mask[i/64] |= 1 << (i % 64)
					}
				}
				masks[r] = mask
				if err := m.Work(n * CompareWork); err != nil {
					return 0, 0, err
				}
			}
			last, lastRune = mask, r
		}
		carry := uint64(1)
		for w, x := range state {
			state[w], carry = (x<<1|carry)&last[w], x>>63
		}
		if state[words-1]&(1<<((n-1)%64)) != 0 {
			_, size := utf8.DecodeRuneInString(s[at:])
			end = at + size
			return back(s, end, n), end, nil
		}
		if err := m.Work(words*2 + 4); err != nil {
			return 0, 0, err
		}
	}
	return -1, -1, nil
}

// back returns the offset n characters before end; -1 if there are fewer.
func back(s string, end, n int) int {
	for ; n > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:end])
		if size == 0 {
			return -1
		}
		end -= size
	}
	return end
}

// matches reports whether s begins with q, and returns the end of the match.
func matches(m *meter.Meter, q Sequence, s string) (end int, ok bool, err error) {
	n := q.Len()
	if err := m.Work(min(n, len(s)) * CompareWork); err != nil {
		return 0, false, err
	}
	for i := range n {
		if end == len(s) {
			return 0, false, nil
		}
		r, size := utf8.DecodeRuneInString(s[end:])
		if !q.Accepts(i, r) {
			return 0, false, nil
		}
		end += size
	}
	return end, true, nil
}
