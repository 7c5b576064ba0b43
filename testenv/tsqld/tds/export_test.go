package tds

// Names for the tests in package tds_test, which use package tdsclient.
const (
	TokBigBinary         = tokBigBinary
	TokBigChar           = tokBigChar
	TokBigVarBin         = tokBigVarBin
	TokBigVarChar        = tokBigVarChar
	TokBitN              = tokBitN
	TokChar              = tokChar
	TokDateTimeN         = tokDateTimeN
	TokDecimalN          = tokDecimalN
	TokFloatN            = tokFloatN
	TokIntN              = tokIntN
	TokMoneyN            = tokMoneyN
	TokNChar             = tokNChar
	TokNVarChar          = tokNVarChar
	TokTVP               = tokTVP
	TokXML               = tokXML
	TokText              = tokText
	TokenColMetadata     = tokenColMetadata
	TokenDone            = tokenDone
	TokenRow             = tokenRow
	TvpEnd               = tvpEnd
	TvpRow               = tvpRow
	Login7ChangePassword = login7ChangePassword
	Login7Extension      = login7Extension
	RpcBatch71           = rpcBatch71
	LastNumber           = lastNumber
)

// Functions for the tests in package tds_test.
var (
	AppendBVarchar = appendBVarchar
	AppendUTF16    = appendUTF16
	DecodeUTF16    = decodeUTF16
)

// SetNext sets the number of the next SESSIONSTATE.
func (s *SessionStates) SetNext(n uint32) { s.next = n }
