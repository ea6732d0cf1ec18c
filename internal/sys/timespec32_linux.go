//go:build linux && (386 || arm || mips || mipsle || ppc)

package sys

func secField(s int64) int32  { return int32(s) }
func nsecField(n int32) int32 { return n }
