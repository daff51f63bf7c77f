"""torch_geometric: convolutions, pooling, batches, loaders, message passing, models; without compiled extensions."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch_geometric import nn, utils
from torch_geometric.data import Batch, Data, HeteroData
from torch_geometric.loader import DataLoader

from tests.ecosystem import kit

REQUIRES = ("torch_geometric==2.8.1",)


def _edges():
    return torch.tensor([[0, 1, 1, 2, 3, 3, 4, 0], [1, 0, 2, 1, 4, 0, 3, 3]])


def _layer(layer, *args, **kwargs):
    x = kit.tensor(5, 4, grad=True)
    out = kit.fill(layer)(x, _edges(), *args, **kwargs)
    out.square().sum().backward()
    return out, x.grad, [p.grad for p in layer.parameters()]


def convolutions():
    return {
        type(layer).__name__: _layer(layer)
        for layer in (
            nn.GCNConv(4, 3),
            nn.SAGEConv(4, 3),
            nn.GraphConv(4, 3),
            nn.ChebConv(4, 3, K=2),
            nn.TAGConv(4, 3),
            nn.SGConv(4, 3, K=2),
            nn.ARMAConv(4, 3),
            nn.LEConv(4, 3),
        )
    }


def attention():
    return {
        type(layer).__name__: _layer(layer)
        for layer in (
            nn.GATConv(4, 3, heads=2),
            nn.GATv2Conv(4, 3, heads=2, concat=False),
            nn.TransformerConv(4, 3, heads=2),
        )
    }


def isomorphism():
    mlp = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    return _layer(nn.GINConv(mlp, train_eps=True)), _layer(nn.EdgeConv(torch.nn.Linear(8, 3)))


def weighted():
    return _layer(nn.GCNConv(4, 3), kit.tensor(8, positive=True)), _layer(
        nn.NNConv(4, 3, torch.nn.Linear(2, 12)), kit.tensor(8, 2)
    )


def message_passing():
    class Layer(nn.MessagePassing):
        def __init__(self, aggr):
            super().__init__(aggr=aggr)
            self.linear = torch.nn.Linear(4, 3)

        def forward(self, x, edge_index):
            return self.propagate(
                edge_index,
                x=self.linear(x),
                norm=utils.degree(edge_index[0], x.size(0)).pow(-0.5)[edge_index[0]],
            )

        def message(self, x_i, x_j, norm):
            return norm.view(-1, 1) * (x_j - x_i)

    return {
        str(aggr): _layer(Layer(aggr))
        for aggr in ("add", "mean", "max", "min", "mul", "std", "softmax", ["add", "max"])
    }


def pooling():
    x, batch = kit.tensor(5, 4), torch.tensor([0, 0, 0, 1, 1])
    top = kit.fill(nn.TopKPooling(4, ratio=0.5))(x, _edges(), batch=batch)
    dense, mask = utils.to_dense_batch(x, batch)
    return (
        nn.global_mean_pool(x, batch),
        nn.global_max_pool(x, batch),
        nn.global_add_pool(x, batch),
        top[0],
        top[1],
        top[3],
        dense,
        mask,
        nn.dense_diff_pool(dense, torch.ones(2, 3, 3), kit.tensor(2, 3, 2))[0],
    )


def batches():
    items = [
        Data(x=kit.tensor(n, 2), edge_index=torch.tensor([[0, 1], [1, 0]]), y=torch.tensor([n]))
        for n in (2, 3, 4, 2)
    ]
    batch = Batch.from_data_list(items)
    loaded = [(b.x, b.edge_index, b.batch, b.ptr, b.y) for b in DataLoader(items, batch_size=2)]
    return (
        batch.edge_index,
        batch.num_graphs,
        batch[2].x,
        loaded,
        str(items[1]),
        items[0].is_undirected(),
        sorted(items[0].keys()),
    )


def training():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.GCNConv(4, 8), nn.GCNConv(8, 2)
            self.norm = nn.BatchNorm(8)

        def forward(self, data):
            x = F.relu(self.norm(self.first(data.x, data.edge_index)))
            return F.log_softmax(self.second(x, data.edge_index), dim=1)

    data = Data(x=kit.tensor(5, 4), edge_index=_edges(), y=torch.tensor([0, 1, 0, 1, 1]))
    net = kit.fill(Net())
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01, weight_decay=5e-4)
    losses = []
    for _ in range(6):
        optimizer.zero_grad()
        loss = F.nll_loss(net(data), data.y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, net(data)


def heterogeneous():
    data = HeteroData()
    data["user"].x, data["item"].x = kit.tensor(3, 4), kit.tensor(2, 4)
    data["user", "buys", "item"].edge_index = torch.tensor([[0, 1, 2], [0, 1, 1]])
    data["item", "by", "user"].edge_index = torch.tensor([[0, 1], [0, 2]])
    conv = kit.fill(
        nn.HeteroConv(
            {("user", "buys", "item"): nn.SAGEConv((4, 4), 3), ("item", "by", "user"): nn.SAGEConv((4, 4), 3)}
        )
    )
    return conv(data.x_dict, data.edge_index_dict), data.metadata()


def tools():
    edges = _edges()
    import torch_geometric.transforms as T

    data = T.Compose([T.ToUndirected(), T.AddSelfLoops(), T.NormalizeFeatures()])(
        Data(x=kit.tensor(5, 4, positive=True), edge_index=edges)
    )
    return (
        utils.to_dense_adj(edges),
        utils.add_self_loops(edges)[0],
        utils.softmax(kit.tensor(8), edges[0]),
        utils.scatter(kit.tensor(8, 2), edges[0], reduce="mean"),
        utils.get_laplacian(edges, normalization="sym")[1],
        utils.k_hop_subgraph(0, 1, edges)[0],
        data.x,
        data.edge_index,
        utils.coalesce(edges.flip(1)),
        utils.subgraph(torch.tensor([0, 1, 3]), edges)[0],
    )


def models():
    x, edges = kit.tensor(5, 4), _edges()
    gae = kit.fill(nn.GAE(nn.GCNConv(4, 3)))
    z = gae.encode(x, edges)
    return (
        kit.fill(nn.GraphSAGE(4, 8, 2, out_channels=3)).eval()(x, edges),
        kit.fill(nn.GAT(4, 8, 2, out_channels=3)).eval()(x, edges),
        gae.decode(z, edges),
        nn.knn_graph is not None,
        kit.fill(
            nn.SchNet(
                8,
                8,
                2,
                4,
                interaction_graph=lambda p, b: (_edges(), (p[_edges()[0]] - p[_edges()[1]]).norm(dim=-1)),
            )
        )(torch.tensor([1, 6, 8, 1, 1]), kit.tensor(5, 3)),
    )
