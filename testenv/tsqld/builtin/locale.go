package builtin

var (
	// localeFuncs parse or format dates in the locale of their Env.
	localeFuncs = names(dateFuncs, formatFuncs, parseFuncs)
	// textFuncs convert their arguments to character strings.
	textFuncs = names(stringFuncs, stringSearchFuncs, stringMakeFuncs)
)

// names returns the names of the functions in some lists.
func names(lists ...[]*Func) map[string]bool {
	m := map[string]bool{}
	for _, list := range lists {
		for _, f := range list {
			m[f.Name] = true
		}
	}
	return m
}

// UsesLocale reports whether the result of the function depends on the locale of its Env.
func (f *Func) UsesLocale() bool { return localeFuncs[f.Name] }

// TakesText reports whether the function converts arguments of other types to character strings.
func (f *Func) TakesText() bool { return textFuncs[f.Name] }
