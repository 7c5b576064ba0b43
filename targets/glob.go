package targets

import "strings"

// MatchGlob matches a name with a pattern in which * stands for any run of characters. No other
// character is special.
func MatchGlob(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == name
	}
	first, last := parts[0], parts[len(parts)-1]
	if !strings.HasPrefix(name, first) || len(name) < len(first)+len(last) || !strings.HasSuffix(name, last) {
		return false
	}
	name = name[len(first) : len(name)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name = name[i+len(part):]
	}
	return true
}

// MatchName matches the name of a database with a pattern, without regard to case: * stands for any
// run of characters, and ? for one character. The cost is at most the product of the lengths.
func MatchName(pattern, name string) bool {
	p, n := []rune(FoldName(pattern)), []rune(FoldName(name))
	star, back := -1, 0 // the last *, and the position in the name of its next try
	i, j := 0, 0
	for j < len(n) {
		switch {
		case i < len(p) && p[i] == '*':
			star, back = i, j
			i++
		case i < len(p) && (p[i] == '?' || p[i] == n[j]):
			i, j = i+1, j+1
		case star >= 0:
			back++
			i, j = star+1, back
		default:
			return false
		}
	}
	for i < len(p) && p[i] == '*' {
		i++
	}
	return i == len(p)
}
