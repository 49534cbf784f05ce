#!/usr/bin/env python3
"""A twin of `mary grow --eyes` in PyTorch, for trying recipes: the same architecture, pictures and lessons, drawn on
the GPU, so that a thousand steps take seconds. It asks the three questions that need binding (colour, shape, place) about
held-out layouts of two to four shapes, 512 each.

    python3 tools/binding.py recipes OUT     # the recipes and sizes of docs/history/vision.md, side by side on one GPU
    python3 tools/binding.py '{"name": "mine", "tokpos": 0.02, "out": "OUT"}'

Words are tokens of their own here, and a grid is a picture that teaches nothing; the program's own trainer has the
last word. `tools/figure_binding.py` draws OUT/*.jsonl.
"""
import json, math, os, subprocess, sys, time

RECIPES = {
    "old": {"tokpos": 0.02, "described": 0.5, "listed": 0.5},
    "old-4000": {"tokpos": 0.02, "described": 0.5, "listed": 0.5, "steps": 4000},
    "old-constant": {"tokpos": 0.02, "described": 0.5, "listed": 0.5, "decay": 0},
    "words": {"described": 0.5, "listed": 0.5},
    "lists": {"tokpos": 0.02},
    "new": {},
    "new-seed2": {"seed": 2},
    "new-3000": {"steps": 3000},
    "pico-3000": {"width": 48, "tower": 2, "layers": 3, "heads": 3, "steps": 3000},
    "w32": {"width": 32, "tower": 1, "layers": 2, "heads": 2, "steps": 4000},
    "w32-1block": {"width": 32, "tower": 1, "layers": 1, "heads": 2, "steps": 4000},
    "w24": {"width": 24, "tower": 1, "layers": 2, "heads": 2, "steps": 4000, "lr": 0.003},
    "w16": {"width": 16, "tower": 1, "layers": 2, "heads": 1, "steps": 4000, "lr": 0.003},
}
if sys.argv[1] == "recipes":
    os.makedirs(sys.argv[2], exist_ok=True)
    told = [json.dumps({"name": name, "out": sys.argv[2], **recipe}) for name, recipe in RECIPES.items()]
    running = [subprocess.Popen([sys.executable, __file__, text]) for text in told]
    sys.exit(max(process.wait() for process in running))

import torch, torch.nn as nn, torch.nn.functional as F

dev = 'cuda' if torch.cuda.is_available() else 'cpu'
cfg = dict(name='base', image=48, patch=12, width=64, tower=3, layers=4, heads=4, batch=32, steps=2000, lr=2e-3,
           alone=6, fewest=1, described=0.667, listed=0.75, opts=1, seed=1, seconds=240, wd=0.05, curriculum=0, warm=100,
           counted=3, grids=0.25, floor=0.05, out='/tmp', every=125, pos=0.5, tokpos=0.5, decay=1)
cfg.update(json.loads(sys.argv[1]))
C = type('C', (), cfg)
torch.manual_seed(C.seed)
torch.backends.cuda.matmul.allow_tf32 = True
torch.backends.cudnn.allow_tf32 = True
COL = ['red','green','blue','yellow']; SHA = ['circle','square','triangle','cross']; PLA = ['top left','top right','bottom left','bottom right']; CNT = ['one','two','three','four']
words = ['<pad>','<img>','\n','<end>']
def w(x):
    if x not in words: words.append(x)
    return words.index(x)
def tok(s): return [w(x) for x in s.split(' ') if x]
def question(kind, subj):
    a = [COL, SHA, PLA, CNT][kind]
    opts = ' : %s , %s , %s or %s' % tuple(a) if C.opts else ''
    t = [ 'What colour is the %s' % SHA[subj], 'What shape is the %s one' % COL[subj], 'Where is the %s one' % COL[subj], 'How many shapes are there'][kind]
    return '\n Question : ' .replace('\n','NL') + t + opts + ' ? NL Answer :'
T = []  # (tokens, weights)
def add(parts):
    t, c = [], []
    for text, learned in parts:
        x = tok(text); t += x; c += [1.0 if learned else 0.0]*len(x)
    T.append((t, c)); return len(T)-1
QT = torch.zeros(4,4,4,dtype=torch.long)
for k in range(4):
    for s in range(4):
        for a in range(4):
            if k == 3 and s > 0: QT[k,s,a] = QT[k,0,a]; continue
            QT[k,s,a] = add([(question(k,s),0),([COL,SHA,PLA,CNT][k][a],1)])
import itertools
DT = torch.zeros(9,4,4,4,dtype=torch.long)
for c in range(4):
    for s in range(4):
        for p in range(4):
            v = [COL[c],SHA[s],PLA[p]]
            DT[0,c,s,p] = add([('NL A '+v[0],0),(v[1],1),('at the',0),(v[2],1)])
            DT[1,c,s,p] = add([('NL The '+v[1]+' is',0),(v[0],1),('at the',0),(v[2],1)])
            DT[2,c,s,p] = add([('NL At the '+v[2]+' is a',0),(v[0],1),(v[1],1)])
            for i,pm in enumerate(itertools.permutations(range(3))):
                DT[3+i,c,s,p] = add([('NL '+v[pm[0]],0),(v[pm[1]],1),(v[pm[2]],1)])
EMPTY = add([('',0)])
LM = max(len(t) for t,_ in T)
TT = torch.zeros(len(T),LM,dtype=torch.long); TW = torch.zeros(len(T),LM); TL = torch.zeros(len(T),dtype=torch.long)
for i,(t,c) in enumerate(T):
    TT[i,:len(t)] = torch.tensor(t,dtype=torch.long); TW[i,:len(c)] = torch.tensor(c); TL[i] = len(t)
QT,DT,TT,TW,TL = [x.to(dev) for x in (QT,DT,TT,TW,TL)]
V = len(words)
side = C.image//C.patch; NI = side*side
LQ = int(TL[QT[:3]].max()); LD = int(TL[DT].max())
LTXT = max(3*LQ+int(TL[QT[3,0,0]]), 4*LD)
g = torch.Generator().manual_seed(123)
HELD = (torch.rand(17**4, generator=g) < 0.125).to(dev)
INK = torch.tensor([[220,40,40],[40,160,60],[50,80,215],[235,200,40]],dtype=torch.float,device=dev)
SS = C.image*2
ax = (torch.arange(SS,device=dev)+0.5)/SS
PX = ax.view(1,1,1,SS); PY = ax.view(1,1,SS,1)
def things(B, lo, hi, held):
    n2 = B*3 if not held else B*24
    sh = torch.rand(n2,4,device=dev).argsort(1); co = torch.rand(n2,4,device=dev).argsort(1); pl = torch.rand(n2,4,device=dev).argsort(1)
    n = torch.floor(torch.rand(n2,device=dev)*(hi-lo+1)+lo).long().clamp(max=4)
    if not held and C.alone: n = torch.where(torch.rand(n2,device=dev) < 1/C.alone, 1, n)
    ok = torch.arange(4,device=dev).view(1,4) < n.view(-1,1)
    code = torch.zeros(n2,4,dtype=torch.long,device=dev)
    code.scatter_(1, pl, torch.where(ok, 1+co*4+sh, 0))
    h = HELD[code[:,0]+17*code[:,1]+289*code[:,2]+4913*code[:,3]]
    keep = h if held else ~h
    idx = torch.argsort((~keep).to(torch.int8), stable=True)[:B]
    return sh[idx],co[idx],pl[idx],n[idx],ok[idx]
def draw(sh,co,pl,ok):
    B = sh.shape[0]
    r = 0.15+0.06*torch.rand(B,4,device=dev); room = 0.5-2*(r+0.02)
    cx = 0.5*(pl%2)+r+0.02+room*torch.rand(B,4,device=dev); cy = 0.5*(pl//2)+r+0.02+room*torch.rand(B,4,device=dev)
    ink = INK[co]+24*(torch.rand(B,4,3,device=dev)-0.5)
    paper = 225+30*torch.rand(B,device=dev)
    v = lambda x: x.view(B,4,1,1)
    dx = (PX-v(cx))/v(r); dy = (PY-v(cy))/v(r); a = dx.abs(); b = dy.abs()
    m0 = dx*dx+dy*dy < 1; m1 = (a<0.85)&(b<0.85); m2 = (dy<0.9)&(2*a<dy+1); m3 = (a<1)&(b<1)&((a<0.33)|(b<0.33))
    s = v(sh)
    m = torch.where(s==0,m0,torch.where(s==1,m1,torch.where(s==2,m2,m3))) & v(ok)
    m = m.float()
    img = (m.unsqueeze(2)*ink.view(B,4,3,1,1)).sum(1) + (1-m.sum(1).clamp(max=1)).unsqueeze(1)*paper.view(B,1,1,1)
    img = F.avg_pool2d(img,2)
    img = (img/255-0.94)/0.5
    p = C.patch
    return img.view(B,3,side,p,side,p).permute(0,2,4,1,3,5).reshape(B,NI,3*p*p)
def text(ids):  # B,K template ids
    B,K = ids.shape
    out = torch.zeros(B,LTXT+LM,dtype=torch.long,device=dev); wt = torch.zeros(B,LTXT+LM,device=dev)
    off = torch.zeros(B,1,dtype=torch.long,device=dev); ar = torch.arange(LM,device=dev).view(1,LM)
    for k in range(K):
        t = ids[:,k]; ln = TL[t].view(-1,1); inside = ar < ln
        pos = torch.where(inside, off+ar, LTXT+ar)
        out.scatter_(1,pos,TT[t]); wt.scatter_(1,pos,TW[t]*inside)
        off = off+ln
    return out[:,:LTXT], wt[:,:LTXT]
def lesson(B, hi):
    sh,co,pl,n,ok = things(B, C.fewest if hi == 4 else 1, hi, False)
    x = draw(sh,co,pl,ok)
    # questions: kinds shuffled onto things
    kinds = torch.rand(B,3,device=dev).argsort(1)
    perm = torch.rand(B,4,device=dev) + (~ok).float()*9
    perm = perm.argsort(1)
    q = []
    for i in range(3):
        t = perm[:,i:i+1]; k = kinds[:,i]
        s,c,p = [z.gather(1,t)[:,0] for z in (sh,co,pl)]
        subj = torch.where(k==0,s,c); ans = torch.where(k==0,c,torch.where(k==1,s,p))
        q.append(torch.where(ok.gather(1,t)[:,0], QT[k,subj,ans], EMPTY))
    cnt = torch.where(torch.rand(B,device=dev) < (1/C.counted if C.counted else 0), QT[3,0,n-1], EMPTY)
    q.append(cnt)
    listed = torch.rand(B,device=dev) < C.listed
    d = []
    for i in range(4):
        t = perm[:,i:i+1]
        s,c,p = [z.gather(1,t)[:,0] for z in (sh,co,pl)]
        f = torch.where(listed, 3+torch.randint(0,6,(B,),device=dev), torch.randint(0,3,(B,),device=dev))
        d.append(torch.where(ok.gather(1,t)[:,0], DT[f,c,s,p], EMPTY))
    desc = torch.rand(B,1,device=dev) < C.described
    ids = torch.where(desc, torch.stack(d,1), torch.stack(q,1))
    t,wt = text(ids)
    # one picture in four is a grid, which teaches nothing about shapes
    wt = wt*(torch.rand(B,1,device=dev) >= C.grids)
    return x,t,wt
class Rms(nn.Module):
    def __init__(s,d): super().__init__(); s.w = nn.Parameter(torch.ones(d))
    def forward(s,x): return F.rms_norm(x,(x.shape[-1],),s.w,1e-5)
def init(lin, std):
    nn.init.normal_(lin.weight, std=std)
    if lin.bias is not None: nn.init.zeros_(lin.bias)
W = C.width; small = math.sqrt(2/(5*W))
def res(L): return min(small, 1/(max(L,1)*math.sqrt(W)))
class Block(nn.Module):
    def __init__(s,L,causal):
        super().__init__(); s.causal = causal; b = not causal
        s.n1 = Rms(W) if causal else nn.LayerNorm(W,eps=1e-6); s.n2 = Rms(W) if causal else nn.LayerNorm(W,eps=1e-6)
        s.qkv = nn.Linear(W,3*W,bias=b); s.o = nn.Linear(W,W,bias=b); init(s.qkv,small); init(s.o,res(L))
        I = W*8//3//16*16 if causal else 4*W
        s.up = nn.Linear(W,2*I if causal else I,bias=b); s.down = nn.Linear(I,W,bias=b); init(s.up,small); init(s.down,res(L))
    def forward(s,x,rope=None):
        B,N,_ = x.shape; h = C.heads; d = W//h
        q,k,v = s.qkv(s.n1(x)).view(B,N,3,h,d).permute(2,0,3,1,4)
        if rope is not None:
            cos,sin = rope
            rot = lambda z: torch.cat([-z[...,d//2:],z[...,:d//2]],-1)
            q = q*cos+rot(q)*sin; k = k*cos+rot(k)*sin
        a = F.scaled_dot_product_attention(q,k,v,is_causal=s.causal)
        x = x+s.o(a.transpose(1,2).reshape(B,N,W))
        y = s.up(s.n2(x))
        if s.causal: u,v2 = y.chunk(2,-1); y = F.silu(u)*v2
        else: y = F.gelu(y,approximate='tanh')
        return x+s.down(y)
class Model(nn.Module):
    def __init__(s):
        super().__init__()
        s.pe = nn.Linear(3*C.patch**2,W); init(s.pe,small); s.pos = nn.Parameter(C.pos*torch.randn(1,NI,W))
        s.tower = nn.ModuleList([Block(C.tower,False) for _ in range(C.tower)])
        s.p1 = nn.Linear(W,W); s.p2 = nn.Linear(W,W); init(s.p1,small); init(s.p2,small)
        s.emb = nn.Embedding(V,W); nn.init.normal_(s.emb.weight,std=C.tokpos)
        s.lm = nn.ModuleList([Block(C.layers,True) for _ in range(C.layers)])
        s.norm = Rms(W); s.head = nn.Linear(W,V,bias=False); init(s.head,small)
        d = W//C.heads; N = NI+LTXT
        f = 1/10000**(torch.arange(0,d,2)/d); a = torch.outer(torch.arange(N).float(),f); a = torch.cat([a,a],-1)
        s.register_buffer('cos',a.cos()); s.register_buffer('sin',a.sin())
    def forward(s,x,t):
        h = s.pe(x)+s.pos
        for b in s.tower: h = b(h)
        h = s.p2(F.gelu(s.p1(h)))
        z = torch.cat([h,s.emb(t)],1); N = z.shape[1]
        rope = (s.cos[:N],s.sin[:N])
        for b in s.lm: z = b(z,rope)
        return s.head(s.norm(z))
model = Model().to(dev)
npar = sum(p.numel() for p in model.parameters())
decay = [p for p in model.parameters() if p.dim()==2]; rest = [p for p in model.parameters() if p.dim()!=2]
lr = torch.tensor(C.lr,device=dev)
opt = torch.optim.AdamW([dict(params=decay,weight_decay=C.wd),dict(params=rest,weight_decay=0.0)],lr=lr,betas=(0.9,0.95),fused=dev=='cuda',capturable=dev=='cuda')
def loss_of(B,hi):
    x,t,wt = lesson(B,hi)
    lg = model(x,t)[:,NI-1:-1]
    l = F.cross_entropy(lg.reshape(-1,V),t.reshape(-1),reduction='none').view_as(wt)
    return (l*wt).sum()/wt.sum()
def train_step(hi):
    opt.zero_grad(set_to_none=False) if graph_mode else opt.zero_grad()
    l = loss_of(C.batch,hi); l.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(),1.0)
    opt.step(); return l.detach()
graph_mode = False
graphs = {}
def capture(hi):
    global graph_mode
    s = torch.cuda.Stream(); s.wait_stream(torch.cuda.current_stream())
    keep = lr.item(); lr.fill_(1e-6)
    with torch.cuda.stream(s):
        for _ in range(3): train_step(hi)
    torch.cuda.current_stream().wait_stream(s)
    graph_mode = True
    gr = torch.cuda.CUDAGraph()
    with torch.cuda.graph(gr): l = train_step(hi)
    lr.fill_(keep)
    graphs[hi] = (gr,l)
@torch.no_grad()
def evaluate(n_each=512):
    r = {}
    for k,name in enumerate(['colour','shape','place']):
        sh,co,pl,n,ok = things(n_each, 2, 4, True)
        x = draw(sh,co,pl,ok)
        s,c,p = sh[:,0],co[:,0],pl[:,0]
        subj = s if k==0 else c; ans = [c,s,p][k]
        sums = []
        for a in range(4):
            t,wt = text(QT[k,subj,torch.full_like(ans,a)].view(-1,1))
            lp = F.log_softmax(model(x,t)[:,NI-1:-1],-1).gather(2,t.unsqueeze(2))[...,0]
            sums.append((lp*wt).sum(1))
        hit = (torch.stack(sums,1).argmax(1)==ans).float()
        r[name] = round(100*hit.mean().item(),1)
        r[name+'4'] = round(100*hit[n==4].mean().item(),1)
    return r
stages = [1,2,4] if C.curriculum else [4]
eager = dev != 'cuda'
if not eager:
    try:
        for hi in stages: capture(hi)
    except Exception as e:
        print('EAGER', C.name, repr(e)[:300], flush=True); eager = True; graph_mode = False
t0 = time.time(); log = open(f'{C.out}/{C.name}.jsonl','w'); log.write(json.dumps(dict(cfg=cfg,parameters=npar,V=V,L=NI+LTXT))+'\n'); log.flush()
step = 0; l = 0.0; done = False
while not done:
    hi = 4
    if C.curriculum: hi = 1 if step < C.curriculum else 2 if step < 2*C.curriculum else 4
    base = C.lr*min(1,(step+1)/C.warm)
    if C.decay: base *= 0.05+0.95*0.5*(1+math.cos(math.pi*max(0,min(1,(step-C.warm)/(C.steps-C.warm)))))
    lr.fill_(base)
    if not eager: graphs[hi][0].replay(); l = graphs[hi][1]
    else: l = train_step(hi)
    step += 1
    done = step >= C.steps or (step % 50 == 0 and time.time()-t0 > C.seconds)
    if step % C.every == 0 or done or step in (64,128,256):
        r = evaluate(); r.update(step=step,pictures=step*C.batch,loss=round(float(l),4),s=round(time.time()-t0,1))
        log.write(json.dumps(r)+'\n'); log.flush()
        b = min(r['colour'],r['shape'],r['place'])
        if b > 97: done = True
