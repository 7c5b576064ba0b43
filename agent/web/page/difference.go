package page

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// maxDifference is the largest size of two texts together, in bytes, whose lines are compared.
const maxDifference = 1 << 20

// Difference compares two texts by lines, with some lines around each difference. A note says that
// they are too large.
func Difference(before, after string) (list []DiffLine, note string, err error) {
	if len(before)+len(after) > maxDifference {
		return nil, fmt.Sprintf("The texts are too large to be compared here: %d and %d bytes.", len(before), len(after)), nil
	}
	unified, err := udiff.ToUnifiedDiff("", "", before, udiff.Lines(before, after), udiff.DefaultContextLines)
	if err != nil {
		return nil, "", err
	}
	next := 1
	for _, h := range unified.Hunks {
		if h.FromLine > next {
			list = append(list, DiffLine{Sign: "@"})
		}
		next = h.FromLine
		for _, l := range h.Lines {
			sign := ""
			switch l.Kind {
			case udiff.Delete:
				sign = "−"
			case udiff.Insert:
				sign = "+"
			case udiff.Equal:
			}
			if l.Kind != udiff.Insert {
				next++
			}
			list = append(list, DiffLine{Sign: sign, Text: strings.TrimSuffix(l.Content, "\n")})
		}
	}
	return list, "", nil
}
