"""The commands of TeX that a formula is made of, and what stands for them."""

from __future__ import annotations


def _pairs(table: str) -> dict[str, str]:
    words = table.split()
    return dict(zip(words[::2], words[1::2], strict=True))


def _names(table: str) -> frozenset[str]:
    return frozenset(table.split())


SYMBOLS = _pairs(
    r"""
    alpha α  beta β  gamma γ  delta δ  epsilon ε  varepsilon ε  zeta ζ  eta η  theta θ  vartheta ϑ  iota ι
    kappa κ  lambda λ  mu μ  nu ν  xi ξ  pi π  rho ρ  sigma σ  varsigma ς  tau τ  upsilon υ  phi φ  varphi φ
    chi χ  psi ψ  omega ω  Gamma Γ  Delta Δ  Theta Θ  Lambda Λ  Xi Ξ  Pi Π  Sigma Σ  Upsilon Υ  Phi Φ  Psi Ψ
    Omega Ω

    sum ∑  prod ∏  int ∫  iint ∬  oint ∮  partial ∂  nabla ∇  infty ∞  ell ℓ  hbar ℏ  Re ℜ  Im ℑ  aleph ℵ
    emptyset ∅  varnothing ∅  forall ∀  exists ∃  nexists ∄  neg ¬  lnot ¬  angle ∠  degree °  prime ′  dots …
    ldots …  cdots ⋯  vdots ⋮  top ⊤  bot ⊥  triangle △  square □  circ ∘  bullet •  star ⋆  ast ∗  dagger †
    langle ⟨  rangle ⟩  lfloor ⌊  rfloor ⌋  lceil ⌈  rceil ⌉  lvert |  rvert |  lVert ‖  rVert ‖  backslash \
    lbrace {  rbrace }
    """
)
OPERATORS = _pairs(
    """
    le ≤  leq ≤  ge ≥  geq ≥  ne ≠  neq ≠  approx ≈  equiv ≡  sim ∼  simeq ≃  cong ≅  propto ∝  ll ≪  gg ≫  in ∈
    notin ∉  ni ∋  subset ⊂  subseteq ⊆  supset ⊃  supseteq ⊇  to →  rightarrow →  leftarrow ←  leftrightarrow ↔
    Rightarrow ⇒  Leftarrow ⇐  Leftrightarrow ⇔  implies ⇒  iff ⇔  mapsto ↦  longrightarrow ⟶  uparrow ↑
    downarrow ↓  times ×  div ÷  pm ±  mp ∓  cdot ·  oplus ⊕  otimes ⊗  cup ∪  cap ∩  setminus ∖  land ∧  wedge
    ∧  lor ∨  vee ∨  mid |  parallel ∥  perp ⊥  vdash ⊢  models ⊨  coloneqq ≔  prec ≺  succ ≻  gets ←
    """
)
"""Set with a space on either side."""
SPACES = {
    ",": " ",
    ";": " ",
    ":": " ",
    " ": " ",
    "!": "",
    "quad": "  ",
    "qquad": "    ",
    "displaystyle": "",
    "limits": "",
}
NAMES = _names(
    """
    sin cos tan cot sec csc sinh cosh tanh arcsin arccos arctan log ln lg exp lim limsup liminf min max sup inf
    det dim ker deg gcd arg Pr mod bmod
    """
)
"""Commands that read as their own names."""
FONTS = _names(
    """
    text textbf textit textrm texttt mathrm mathbf mathit mathsf mathtt mathcal mathfrak boldsymbol bm mbox
    operatorname boxed
    """
)
SIZES = _names("left right big Big bigg Bigg bigl bigr Bigl Bigr middle")
ACCENTS = {
    "hat": "\u0302",
    "widehat": "\u0302",
    "bar": "\u0304",
    "overline": "\u0305",
    "vec": "\u20d7",
    "tilde": "\u0303",
    "dot": "\u0307",
    "ddot": "\u0308",
}
"""Combining characters, set behind a single one."""
BOARD = dict(zip("CHNPQRZ", "ℂℍℕℙℚℝℤ", strict=True))
BRACKETS = {"pmatrix": "()", "bmatrix": "[]", "Bmatrix": "{}", "vmatrix": "||", "matrix": "  ", "cases": "{ "}

RAISED = str.maketrans(
    "0123456789+-=()abcdefghijklmnoprstuvwxyzABDEGHIJKLMNOPRTUVWβγδθφχ′",
    "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂᵝᵞᵟᶿᵠᵡ′",
)
LOWERED = str.maketrans("0123456789+-=()aehijklmnoprstuvxβγρφχ", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵪ")
