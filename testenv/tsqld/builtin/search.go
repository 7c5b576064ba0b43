package builtin

import (
	"unicode/utf8"

	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// sequence is what is looked for in a text: elements that stand for one character each.
type sequence interface {
	// Len is the number of elements.
	Len() int
	// Accepts reports whether element i stands for r.
	Accepts(i int, r rune) bool
}

// folded is a text as a sequence, under a collation.
type folded struct {
	text []rune
	c    types.Collation
}

// Len implements [sequence].
func (f folded) Len() int { return len(f.text) }

// Accepts implements [sequence].
func (f folded) Accepts(i int, r rune) bool { return types.SameRune(r, f.text[i], f.c) }

const (
	// compareWork is what a comparison of two characters costs, in steps of [meter.Meter.Work].
	compareWork = 16
	// patience is how many comparisons a byte of the text are made before search takes the way that needs one a byte.
	patience = 8
	// maxMasks bounds the characters whose masks are kept.
	maxMasks = 1024
)

// search looks for the first place in s where q stands: byte offsets of its start and end, -1 for none. It compares place by place as
// long as most of them differ in their first characters, which is fast; and follows all places at once, a bit for each element of q,
// where they do not: 'aaa…b' in 'aaa…' would take the product of both lengths.
func search(m *meter.Meter, q sequence, s string) (start, end int, err error) {
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
			return -1, -1, nil // too short from here on
		}
		spent += i + 1
		if err := m.Work((i + 1) * compareWork); err != nil {
			return 0, 0, err
		}
		if spent > 1024 && spent > patience*(start+1) {
			at, end, err := searchAtOnce(m, q, s[start:])
			if at < 0 || err != nil {
				return -1, -1, err
			}
			return start + at, start + end, nil
		}
	}
	if n == 0 {
		return 0, 0, nil // of an empty text
	}
	return -1, -1, nil
}

// searchAtOnce is search by the algorithm of Baeza-Yates and Gonnet ("shift-and"): bit i of the state says that the last i+1 characters are
// those of the first i+1 elements.
func searchAtOnce(m *meter.Meter, q sequence, s string) (start, end int, err error) {
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
				if err := m.Work(n * compareWork); err != nil {
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

// back is the offset n characters before end; -1 if there are not so many.
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

// matches reports whether s begins with q, and where q ends in it.
func matches(m *meter.Meter, q sequence, s string) (end int, ok bool, err error) {
	n := q.Len()
	if err := m.Work(min(n, len(s)) * compareWork); err != nil {
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
