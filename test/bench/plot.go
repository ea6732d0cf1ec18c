package main

import (
	"bytes"
	"fmt"
	"html"
)

// plot is a page of horizontal bars in sections. A bar longer than the limit
// is cut and drawn with an open end; its text has the figure.
type plot struct {
	name, title string
	limit       float64
	sections    []section
}

type section struct {
	label string
	bars  []bar
}

type bar struct {
	label string
	value float64
	text  string
	good  bool // drawn in the colour of haul
}

const (
	plotWidth  = 960
	labelWidth = 250
	barSpace   = 430 // the rest is for the text
	lineHeight = 18
)

func (p *plot) add(s section) {
	if len(s.bars) > 0 {
		p.sections = append(p.sections, s)
	}
}

// bars returns the number of bars in the longest section.
func (p *plot) bars() int {
	n := 0
	for _, s := range p.sections {
		n = max(n, len(s.bars))
	}
	return n
}

func (p *plot) svg() []byte {
	var body bytes.Buffer
	y := 2 * lineHeight
	text := func(x, y int, style, s string) {
		fmt.Fprintf(&body, `<text x="%d" y="%d" %s>%s</text>`+"\n", x, y, style, html.EscapeString(s))
	}
	text(8, y-lineHeight/2, `font-weight="bold" font-size="15"`, p.title)
	for _, s := range p.sections {
		y += lineHeight + 4
		text(8, y, `font-weight="bold"`, s.label)
		x := labelWidth + p.scale(1)
		fmt.Fprintf(&body, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#555" stroke-dasharray="3 3"/>`+"\n", x, y+4, x, y+4+lineHeight*len(s.bars))
		for _, b := range s.bars {
			y += lineHeight
			p.bar(&body, b, y)
			text(labelWidth-8, y, `text-anchor="end"`, b.label)
		}
		y += 6
	}
	var out bytes.Buffer
	height := y + lineHeight
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", plotWidth, height, plotWidth, height)
	fmt.Fprintf(&out, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", plotWidth, height)
	out.Write(body.Bytes())
	out.WriteString("</svg>\n")
	return out.Bytes()
}

func (p *plot) bar(out *bytes.Buffer, b bar, y int) {
	colour := "#b8bec6"
	if b.good {
		colour = "#2f7d5b"
	} else if p.name == "promises" {
		colour = "#c2452d"
	}
	w := p.scale(b.value)
	fmt.Fprintf(out, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>`+"\n", labelWidth, y-12, w, lineHeight-4, colour)
	if b.value > p.limit {
		fmt.Fprintf(out, `<path d="M%d %d l8 7 l-8 7 z" fill="%s"/>`+"\n", labelWidth+w, y-12, colour)
		w += 10
	}
	fmt.Fprintf(out, `<text x="%d" y="%d">%s</text>`+"\n", labelWidth+w+6, y, html.EscapeString(b.text))
}

func (p *plot) scale(x float64) int { return max(int(min(x, p.limit)/p.limit*barSpace), 1) }
